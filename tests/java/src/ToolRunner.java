import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.common.utils.internals.Exit;

/**
 * Kafka's command-line tools one after another in one JVM, which spares each of them its start.
 *
 * <pre>
 * {"tool": "org.apache.kafka.tools.TopicCommand", "args": ["--list", …], "stdin": ""}
 *     →  {"exit": 0, "stdout": "…", "stderr": "…"}
 * </pre>
 *
 * A tool ends itself through Kafka's {@code Exit}; here that is an exception, and its first status
 * counts, since some tools catch everything and exit again. Its shutdown hooks run at its end.
 */
public final class ToolRunner {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private static final class ExitCalled extends Error {
        ExitCalled() {
            super(null, null, false, false);
        }
    }

    private ToolRunner() {
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader requests =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = requests.readLine()) != null) {
            JsonNode request = MAPPER.readTree(line);
            answers.println(MAPPER.writeValueAsString(run(request)));
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private static ObjectNode run(JsonNode request) throws ReflectiveOperationException {
        String[] args = MAPPER.convertValue(request.get("args"), String[].class);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        AtomicReference<Integer> status = new AtomicReference<>();
        Exit.Procedure procedure = (code, message) -> {
            status.compareAndSet(null, code);
            // A process would be gone: what is printed from here on was never seen.
            System.out.flush();
            System.err.flush();
            System.setOut(new PrintStream(OutputStream.nullOutputStream()));
            System.setErr(new PrintStream(OutputStream.nullOutputStream()));
            throw new ExitCalled();
        };
        Exit.setExitProcedure(procedure);
        Exit.setHaltProcedure(procedure);
        List<Runnable> shutdownHooks = new ArrayList<>();
        Exit.setShutdownHookAdder((name, hook) -> shutdownHooks.add(hook));
        PrintStream toolOut = new PrintStream(out, true, StandardCharsets.UTF_8);
        PrintStream toolErr = new PrintStream(err, true, StandardCharsets.UTF_8);
        System.setOut(toolOut);
        System.setErr(toolErr);
        System.setIn(new ByteArrayInputStream(
            request.get("stdin").asText().getBytes(StandardCharsets.UTF_8)));
        try {
            Class.forName(request.get("tool").asText()).getMethod("main", String[].class)
                .invoke(null, (Object) args);
        } catch (InvocationTargetException e) {
            if (!(e.getCause() instanceof ExitCalled)) {
                // What a JVM does with an exception that leaves main.
                e.getCause().printStackTrace(System.err);
                status.compareAndSet(null, 1);
            }
        }
        System.setOut(toolOut);
        System.setErr(toolErr);
        shutdownHooks.forEach(Runnable::run);
        toolOut.flush();
        toolErr.flush();
        return MAPPER.createObjectNode()
            .put("exit", status.get() == null ? 0 : status.get())
            .put("stdout", out.toString(StandardCharsets.UTF_8))
            .put("stderr", err.toString(StandardCharsets.UTF_8));
    }
}
