import java.io.BufferedReader;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import org.semanticweb.owlapi.apibinding.OWLManager;
import org.semanticweb.owlapi.model.IRI;
import org.semanticweb.owlapi.model.OWLAxiom;
import org.semanticweb.owlapi.model.OWLClass;
import org.semanticweb.owlapi.model.OWLDataFactory;
import org.semanticweb.owlapi.model.OWLDataProperty;
import org.semanticweb.owlapi.model.OWLLiteral;
import org.semanticweb.owlapi.model.OWLNamedIndividual;
import org.semanticweb.owlapi.model.OWLObjectProperty;
import org.semanticweb.owlapi.model.OWLOntology;
import org.semanticweb.owlapi.model.OWLOntologyManager;
import org.semanticweb.owlapi.reasoner.OWLReasoner;
import org.semanticweb.owlapi.reasoner.OWLReasonerFactory;

/**
 * Puts one question to one reasoner behind the OWL API (version 3 or 5), and says what it took: ReasonerDriver with a clock.
 *
 * <p>PeerDriver FACTORY OPTIONS-CLASS-or-- incremental|scratch TBOX BASE.nt BATCH.nt-or--
 *
 * <p>PeerDriver FACTORY - types|instances DOCUMENT EVENT.nt…
 *
 * <p>incremental: load the base, check it, add the batch, check again. scratch: load all of it, check. Each line on stdout that
 * begins with "peer " is one stage, as key=value pairs; seconds are wall seconds. Lines of N-Triples that were not understood are
 * counted as "unread", never guessed at. types: of the individuals of each event, beside the document; instances: of the document's
 * classes. Each event is a stage, behind a line for each individual, a tab and a class of it.
 */
public final class PeerDriver {
    private static final String RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
    private static final String OWL = "http://www.w3.org/2002/07/owl#";

    private final OWLDataFactory factory;
    private final OWLOntology ontology;
    private final OWLOntologyManager manager;
    private final Set<String> objectProperties = new HashSet<>();
    private final Set<String> dataProperties = new HashSet<>();
    private final Map<String, OWLNamedIndividual> individuals = new HashMap<>();
    private long unread;

    private PeerDriver(String tbox) throws Exception {
        manager = OWLManager.createOWLOntologyManager();
        factory = manager.getOWLDataFactory();
        ontology = manager.loadOntologyFromOntologyDocument(new File(tbox));
        for (OWLObjectProperty property : ontology.getObjectPropertiesInSignature()) {
            objectProperties.add(property.getIRI().toString());
        }
        for (OWLDataProperty property : ontology.getDataPropertiesInSignature()) {
            dataProperties.add(property.getIRI().toString());
        }
    }

    public static void main(String[] arguments) throws Throwable {
        if (arguments[2].equals("types") || arguments[2].equals("instances")) {
            OWLReasonerFactory reasoners = ReasonerDriver.reasonerFactory(arguments[0]);
            for (String event : Arrays.copyOfRange(arguments, 4, arguments.length)) {
                PeerDriver driver = new PeerDriver(arguments[3]);
                Set<OWLAxiom> axioms = driver.read(event);
                stage("load", 0, " unread=" + driver.unread);
                driver.answer(reasoners, axioms, arguments[2].equals("types"));
            }
            stage("end", 0, "");
            System.exit(0);
        }
        long began = ManagementFactory.getRuntimeMXBean().getStartTime();
        stage("start", (System.currentTimeMillis() - began) / 1e3, "");
        boolean incremental = arguments[2].equals("incremental");
        boolean hasBatch = !arguments[5].equals("-");
        if (incremental) {
            switchIncrementalOn(arguments[1]);
        }
        OWLReasonerFactory reasoners = ReasonerDriver.reasonerFactory(arguments[0]);

        long at = System.nanoTime();
        PeerDriver driver = new PeerDriver(arguments[3]);
        int tboxAxioms = driver.ontology.getLogicalAxiomCount();
        int read = driver.add(driver.read(arguments[4]));
        if (!incremental && hasBatch) {
            read += driver.add(driver.read(arguments[5]));
        }
        stage("load", since(at), " tbox=" + tboxAxioms + " assertions=" + read + " unread=" + driver.unread);

        at = System.nanoTime();
        OWLReasoner reasoner = incremental
                ? reasoners.createNonBufferingReasoner(driver.ontology)
                : reasoners.createReasoner(driver.ontology);
        boolean consistent = reasoner.isConsistent();
        stage(incremental ? "first check" : "check", since(at), " consistent=" + consistent);

        if (incremental && hasBatch) {
            at = System.nanoTime();
            Set<OWLAxiom> batch = driver.read(arguments[5]);
            stage("reading the batch", since(at), " assertions=" + batch.size() + " unread=" + driver.unread);
            at = System.nanoTime();
            driver.add(batch);
            consistent = reasoner.isConsistent();
            stage("step", since(at), " consistent=" + consistent);
        }
        stage("end", 0, "");
        System.exit(0);
    }

    /** Reasons about an event, and prints the types of its individuals, or the instances of all classes. */
    private void answer(OWLReasonerFactory reasoners, Set<OWLAxiom> event, boolean types) throws Throwable {
        long at = System.nanoTime();
        Set<OWLNamedIndividual> named = new LinkedHashSet<>();
        for (OWLAxiom axiom : event) {
            named.addAll(axiom.getIndividualsInSignature());
        }
        add(event);
        OWLReasoner reasoner = reasoners.createReasoner(ontology);
        StringBuilder found = new StringBuilder();
        if (types) {
            for (OWLNamedIndividual individual : named) {
                for (OWLClass type : reasoner.getTypes(individual, false).getFlattened()) {
                    found.append(individual.getIRI()).append('\t').append(type.getIRI()).append('\n');
                }
            }
        } else {
            for (OWLClass type : ontology.getClassesInSignature()) {
                for (OWLNamedIndividual individual : reasoner.getInstances(type, false).getFlattened()) {
                    found.append(individual.getIRI()).append('\t').append(type.getIRI()).append('\n');
                }
            }
        }
        double seconds = since(at);
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8.name());
        out.print(found);
        out.flush();
        stage("event", seconds, "");
        reasoner.dispose();
    }

    private static double cpuBefore;

    /** Says what a stage took; its CPU time is that of the whole process since the stage before. */
    private static void stage(String name, double seconds, String more) {
        double cpu = 0;
        if (ManagementFactory.getOperatingSystemMXBean() instanceof com.sun.management.OperatingSystemMXBean) {
            cpu = ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime() / 1e9;
        }
        System.out.printf(java.util.Locale.ROOT, "peer stage=%s seconds=%.4f cpu=%.4f%s%n",
                name.replace(' ', '-'), seconds, cpu - cpuBefore, more);
        System.out.flush();
        cpuBefore = cpu;
    }

    private static double since(long nanoseconds) {
        return (System.nanoTime() - nanoseconds) / 1e9;
    }

    /** Pellet's and Openllet's incremental consistency checking rests on the completion queue, and excludes smart restore. */
    private static void switchIncrementalOn(String options) throws Exception {
        Class<?> holder = Class.forName(options);
        holder.getField("USE_COMPLETION_QUEUE").setBoolean(null, true);
        holder.getField("USE_INCREMENTAL_CONSISTENCY").setBoolean(null, true);
        holder.getField("USE_SMART_RESTORE").setBoolean(null, false);
    }

    /** How many axioms were added: those that the ontology did not have. */
    private int add(Set<OWLAxiom> axioms) throws Throwable {
        int before = ontology.getAxiomCount();
        ReasonerDriver.addAxioms(manager, ontology, axioms);
        return ontology.getAxiomCount() - before;
    }

    // --- N-Triples ---------------------------------------------------------------------------------

    private Set<OWLAxiom> read(String file) throws IOException {
        Set<OWLAxiom> axioms = new LinkedHashSet<>();
        try (BufferedReader lines = new BufferedReader(
                new InputStreamReader(new FileInputStream(file), StandardCharsets.UTF_8), 1 << 16)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.isEmpty() || line.charAt(0) == '#') {
                    continue;
                }
                OWLAxiom axiom = axiom(new Line(line));
                if (axiom == null) {
                    unread++;
                } else {
                    axioms.add(axiom);
                }
            }
        }
        return axioms;
    }

    /** The assertion that a line makes; null where it is broken, or its predicate unknown. */
    private OWLAxiom axiom(Line line) {
        String subject = line.resource();
        String predicate = subject == null ? null : line.resource();
        if (predicate == null) {
            return null;
        }
        if (line.atLiteral()) {
            String lexical = line.quoted();
            if (lexical == null || !dataProperties.contains(predicate)) {
                return null;
            }
            OWLLiteral literal;
            if (line.skip("^^")) {
                String datatype = line.resource();
                if (datatype == null) {
                    return null;
                }
                literal = factory.getOWLLiteral(lexical, factory.getOWLDatatype(IRI.create(datatype)));
            } else {
                literal = factory.getOWLLiteral(lexical, line.tag());
            }
            return line.ends()
                    ? factory.getOWLDataPropertyAssertionAxiom(
                            factory.getOWLDataProperty(IRI.create(predicate)), individual(subject), literal)
                    : null;
        }
        String object = line.resource();
        if (object == null || !line.ends()) {
            return null;
        }
        if (predicate.equals(RDF_TYPE)) {
            return factory.getOWLClassAssertionAxiom(factory.getOWLClass(IRI.create(object)), individual(subject));
        }
        if (predicate.equals(OWL + "sameAs")) {
            return factory.getOWLSameIndividualAxiom(individual(subject), individual(object));
        }
        if (predicate.equals(OWL + "differentFrom")) {
            return factory.getOWLDifferentIndividualsAxiom(individual(subject), individual(object));
        }
        if (!objectProperties.contains(predicate)) {
            return null;
        }
        return factory.getOWLObjectPropertyAssertionAxiom(
                factory.getOWLObjectProperty(IRI.create(predicate)), individual(subject), individual(object));
    }

    private OWLNamedIndividual individual(String name) {
        return individuals.computeIfAbsent(name, unknown -> factory.getOWLNamedIndividual(IRI.create(unknown)));
    }

    /** One line, read from the left; null or false where it does not go on as asked. */
    private static final class Line {
        private final String text;
        private int at;

        Line(String text) {
            this.text = text;
        }

        private void blanks() {
            while (at < text.length() && (text.charAt(at) == ' ' || text.charAt(at) == '\t')) {
                at++;
            }
        }

        boolean skip(String word) {
            boolean there = text.startsWith(word, at);
            at += there ? word.length() : 0;
            return there;
        }

        boolean atLiteral() {
            blanks();
            return at < text.length() && text.charAt(at) == '"';
        }

        /** An IRI, or a blank node as an IRI of its own. */
        String resource() {
            blanks();
            if (skip("_:")) {
                int from = at;
                while (at < text.length() && " \t<\"".indexOf(text.charAt(at)) < 0) {
                    at++;
                }
                return at == from ? null : "urn:blank:" + text.substring(from, at);
            }
            if (!skip("<")) {
                return null;
            }
            int end = text.indexOf('>', at);
            if (end <= at) {
                return null;
            }
            String iri = text.substring(at, end);
            at = end + 1;
            for (int i = 0; i < iri.length(); i++) {
                if (iri.charAt(i) <= ' ' || "<\"{}|^`".indexOf(iri.charAt(i)) >= 0) {
                    return null;
                }
            }
            return iri.indexOf('\\') < 0 ? iri : unescaped(iri);
        }

        /** What stands between quotation marks. */
        String quoted() {
            int from = ++at;
            while (at < text.length() && text.charAt(at) != '"') {
                at += text.charAt(at) == '\\' ? 2 : 1;
            }
            if (at >= text.length()) {
                return null;
            }
            String body = text.substring(from, at++);
            return body.indexOf('\\') < 0 ? body : unescaped(body);
        }

        String tag() {
            if (!skip("@")) {
                return "";
            }
            int from = at;
            while (at < text.length() && (Character.isLetterOrDigit(text.charAt(at)) || text.charAt(at) == '-')) {
                at++;
            }
            return text.substring(from, at);
        }

        boolean ends() {
            blanks();
            if (!skip(".")) {
                return false;
            }
            blanks();
            return at == text.length() || text.charAt(at) == '#';
        }

        /** Escapes replaced; null for one that does not exist. */
        private static String unescaped(String body) {
            StringBuilder out = new StringBuilder(body.length());
            for (int i = 0; i < body.length(); i++) {
                if (body.charAt(i) != '\\') {
                    out.append(body.charAt(i));
                    continue;
                }
                if (++i == body.length()) {
                    return null;
                }
                char kind = body.charAt(i);
                int digits = kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
                if (digits > 0) {
                    if (i + digits >= body.length()) {
                        return null;
                    }
                    try {
                        out.appendCodePoint(Integer.parseInt(body.substring(i + 1, i + 1 + digits), 16));
                    } catch (IllegalArgumentException broken) {
                        return null;
                    }
                    i += digits;
                    continue;
                }
                int known = "tbnrf\"'\\".indexOf(kind);
                if (known < 0) {
                    return null;
                }
                out.append("\t\b\n\r\f\"'\\".charAt(known));
            }
            return out.toString();
        }
    }
}
