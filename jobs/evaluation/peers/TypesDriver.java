import java.io.File;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.semanticweb.owlapi.apibinding.OWLManager;
import org.semanticweb.owlapi.model.IRI;
import org.semanticweb.owlapi.model.OWLClass;
import org.semanticweb.owlapi.model.OWLOntology;
import org.semanticweb.owlapi.model.OWLOntologyManager;
import org.semanticweb.owlapi.reasoner.OWLReasoner;
import org.semanticweb.owlapi.reasoner.OWLReasonerFactory;

/**
 * Asks one reasoner behind the OWL API for the classes of individuals.
 *
 * <p>TypesDriver FACTORY DOCUMENT INDIVIDUAL…; each line on stdout is an individual, a tab and a class; the last one is "end".
 */
public final class TypesDriver {
    public static void main(String[] arguments) throws Exception {
        OWLReasonerFactory reasoners =
                (OWLReasonerFactory) Class.forName(arguments[0]).getDeclaredConstructor().newInstance();
        OWLOntologyManager manager = OWLManager.createOWLOntologyManager();
        OWLOntology ontology = manager.loadOntologyFromOntologyDocument(new File(arguments[1]));
        OWLReasoner reasoner = reasoners.createReasoner(ontology);
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8.name());
        for (int i = 2; i < arguments.length; i++) {
            IRI name = IRI.create(arguments[i]);
            for (OWLClass type : reasoner.getTypes(manager.getOWLDataFactory().getOWLNamedIndividual(name), false).getFlattened()) {
                out.println(name + "\t" + type.getIRI());
            }
        }
        out.println("end");
        out.flush();
        System.exit(0);
    }
}
