import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.semanticweb.HermiT.Configuration;
import org.semanticweb.HermiT.Reasoner;
import org.semanticweb.owlapi.apibinding.OWLManager;
import org.semanticweb.owlapi.io.OWLOntologyDocumentSource;
import org.semanticweb.owlapi.io.StringDocumentSource;
import org.semanticweb.owlapi.model.OWLAxiom;
import org.semanticweb.owlapi.model.OWLOntology;
import org.semanticweb.owlapi.model.OWLOntologyLoaderConfiguration;
import org.semanticweb.owlapi.model.OWLOntologyManager;
import org.semanticweb.owlapi.reasoner.OWLReasoner;
import org.semanticweb.owlapi.reasoner.OWLReasonerFactory;

/**
 * Answers whether ontologies are consistent, by one reasoner behind the OWL API (version 3 or 5).
 *
 * <p>ReasonerDriver FACTORY reads requests on standard input and writes one line for each on standard output, "ready" before them.
 * What libraries print goes to standard error. It ends when standard input does, in the middle of a question too.
 *
 * <p>A request is its length (four bytes, the highest first), a line of words, and a document in functional-style syntax:
 *
 * <pre>
 * NUMBER base SLOT AXIOMS NAMES            read a document and keep its axioms in a slot
 * NUMBER ask SLOT,SLOT,…|- AXIOMS NAMES    is the document consistent, together with what these slots hold?
 * </pre>
 *
 * AXIOMS and NAMES are how many logical axioms and how many entities there must be. Answers:
 *
 * <pre>
 * NUMBER AXIOMS NAMES kept|true|false|misread    "misread": the counts are others than those of the request; nothing was asked
 * NUMBER error TEXT                              an exception
 * </pre>
 *
 * One set of class files serves both versions of the OWL API: what differs between them is called by reflection.
 */
public final class ReasonerDriver {
    /** HermiT with a configuration of its own: its factory's leaves out axioms with datatypes that it does not support. */
    private static final String HERMIT = "org.semanticweb.HermiT.Reasoner";

    private static final String[] PARSERS = {
        "org.coode.owlapi.functionalparser.OWLFunctionalSyntaxOWLParser",
        "org.semanticweb.owlapi.functional.parser.OWLFunctionalSyntaxOWLParser",
    };

    private final OWLReasonerFactory factory;
    private final Map<String, Set<OWLAxiom>> slots = new HashMap<>();
    private OWLOntologyManager manager = OWLManager.createOWLOntologyManager();
    private final Object parser;

    private ReasonerDriver(String factory) throws ReflectiveOperationException {
        this.factory = factory.equals(HERMIT) ? null : reasonerFactory(factory);
        parser = parser();
    }

    static OWLReasonerFactory reasonerFactory(String name) throws ReflectiveOperationException {
        return (OWLReasonerFactory) Class.forName(name).getDeclaredConstructor().newInstance();
    }

    /** The parser itself, not a manager's search for one: among the others are some that read anything as nothing. */
    private static Object parser() throws ReflectiveOperationException {
        for (String name : PARSERS) {
            try {
                return Class.forName(name).getDeclaredConstructor().newInstance();
            } catch (ClassNotFoundException other) {
                continue;
            }
        }
        throw new ClassNotFoundException(PARSERS[0]);
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        ReasonerDriver driver = new ReasonerDriver(arguments[0]);
        BlockingQueue<String> requests = new LinkedBlockingQueue<>();
        Thread reader = new Thread(() -> readRequests(requests), "requests");
        reader.setDaemon(true);
        reader.start();
        answers.print("ready\n");
        while (!answers.checkError()) {
            String request = requests.take();
            int end = request.indexOf('\n');
            String[] words = request.substring(0, end).split(" ");
            answers.print(words[0] + " " + driver.answer(words, request.substring(end + 1)) + "\n");
        }
        Runtime.getRuntime().halt(1);
    }

    /** Halts this process at the end of standard input, which is that of the process that asks. */
    private static void readRequests(BlockingQueue<String> requests) {
        try {
            DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
            while (true) {
                byte[] request = new byte[in.readInt()];
                in.readFully(request);
                requests.put(new String(request, StandardCharsets.UTF_8));
            }
        } catch (EOFException end) {
            Runtime.getRuntime().halt(0);
        } catch (Throwable trouble) {
            trouble.printStackTrace();
        } finally {
            Runtime.getRuntime().halt(1);
        }
    }

    private String answer(String[] words, String document) {
        try {
            OWLOntology ontology = manager.createOntology();
            try {
                return answer(words, document, ontology);
            } finally {
                manager.removeOntology(ontology);
            }
        } catch (Throwable thrown) {
            // A constructor of HermiT that throws leaves a listener at the manager, which would keep every later change.
            manager = OWLManager.createOWLOntologyManager();
            return "error " + thrown.toString().replaceAll("\\s+", " ");
        }
    }

    /** Answers with the help of an ontology that is empty. */
    private String answer(String[] words, String document, OWLOntology ontology) throws Throwable {
        boolean isBase = words[1].equals("base");
        Method parse = parser.getClass().getMethod(
                "parse", OWLOntologyDocumentSource.class, OWLOntology.class, OWLOntologyLoaderConfiguration.class);
        call(parse, parser, new StringDocumentSource(document), ontology, new OWLOntologyLoaderConfiguration());
        if (!isBase && !words[2].equals("-")) {
            for (String slot : words[2].split(",")) {
                addAxioms(manager, ontology, slots.get(slot));
            }
        }
        String held = ontology.getLogicalAxiomCount() + " " + ontology.getSignature().size();
        if (!held.equals(words[3] + " " + words[4])) {
            return held + " misread";
        }
        if (isBase) {
            slots.put(words[2], ontology.getAxioms());
            return held + " kept";
        }
        OWLReasoner reasoner = factory == null ? Hermit.reasoner(ontology) : factory.createReasoner(ontology);
        try {
            return held + " " + reasoner.isConsistent();
        } finally {
            reasoner.dispose();
        }
    }

    /** Adds axioms, by whichever of the two methods this version of the OWL API has. */
    static void addAxioms(OWLOntologyManager manager, OWLOntology ontology, Set<OWLAxiom> axioms) throws Throwable {
        for (Method method : OWLOntologyManager.class.getMethods()) {
            Class<?>[] types = method.getParameterTypes();
            if (method.getName().equals("addAxioms") && types[1].isInstance(axioms)) {
                call(method, manager, ontology, axioms);
                return;
            }
        }
        throw new NoSuchMethodException("addAxioms");
    }

    private static Object call(Method method, Object object, Object... arguments) throws Throwable {
        try {
            return method.invoke(object, arguments);
        } catch (InvocationTargetException wrapped) {
            throw wrapped.getCause();
        }
    }

    /** A class of its own: it is loaded only where HermiT is on the class path. */
    private static final class Hermit {
        static OWLReasoner reasoner(OWLOntology ontology) {
            Configuration configuration = new Configuration();
            configuration.ignoreUnsupportedDatatypes = false;
            return new Reasoner(configuration, ontology);
        }
    }
}
