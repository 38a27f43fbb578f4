import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;

/**
 * Answers what Kafka's own generated message classes make of a message: one JSON line in, one out.
 *
 * <pre>
 * {"message": "FetchRequest", "version": 18, "json": {…}}  →  {"hex": "…"}
 * {"message": "FetchRequest", "version": 18, "hex": "…"}   →  {"json": {…}, "remaining": 0}
 * {"message": "FetchRequest", "version": 18}               →  {"json": {…}} of all defaults
 * {"message": "FetchRequest"}                              →  {"lowest": 4, "highest": 18}
 * </pre>
 *
 * What Kafka refuses comes back as {"error": "…"}.
 */
public final class MessageOracle {
    private static final String[] PACKAGES = {
        "org.apache.kafka.common.message.",
        "org.apache.kafka.common.metadata.",
        "org.apache.kafka.coordinator.group.generated.",
        "org.apache.kafka.coordinator.transaction.generated.",
        "org.apache.kafka.coordinator.share.generated.",
        "org.apache.kafka.raft.generated.",
        "org.apache.kafka.server.log.remote.metadata.storage.generated.",
    };
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final Map<String, Entry> ENTRIES = new HashMap<>();

    private record Entry(Class<?> message, Method read, Method write) {
    }

    private MessageOracle() {
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        String line;
        while ((line = in.readLine()) != null) {
            ObjectNode answer;
            try {
                answer = answer(MAPPER.readTree(line));
            } catch (InvocationTargetException e) {
                answer = MAPPER.createObjectNode().put("error", String.valueOf(e.getCause()));
            } catch (Exception e) {
                answer = MAPPER.createObjectNode().put("error", String.valueOf(e));
            }
            out.println(MAPPER.writeValueAsString(answer));
            out.flush();
        }
    }

    private static ObjectNode answer(JsonNode request) throws Exception {
        Entry entry = entry(request.get("message").asText());
        ObjectNode answer = MAPPER.createObjectNode();
        if (!request.has("version")) {
            Message message = instance(entry);
            return answer.put("lowest", message.lowestSupportedVersion())
                .put("highest", message.highestSupportedVersion());
        }
        short version = (short) request.get("version").asInt();
        if (request.has("json")) {
            Message message = (Message) entry.read.invoke(null, request.get("json"), version);
            ByteBuffer bytes = MessageUtil.toByteBufferAccessor(message, version).buffer();
            byte[] data = new byte[bytes.remaining()];
            bytes.get(data);
            return answer.put("hex", HexFormat.of().formatHex(data));
        }
        Message message = instance(entry);
        if (request.has("hex")) {
            byte[] data = HexFormat.of().parseHex(request.get("hex").asText());
            ByteBuffer bytes = ByteBuffer.wrap(data);
            message.read(new ByteBufferAccessor(bytes), version);
            answer.put("remaining", bytes.remaining());
        }
        return answer.set("json", (JsonNode) entry.write.invoke(null, message, version));
    }

    private static Message instance(Entry entry) throws ReflectiveOperationException {
        return (Message) entry.message.getDeclaredConstructor().newInstance();
    }

    private static Entry entry(String name) throws ReflectiveOperationException {
        Entry known = ENTRIES.get(name);
        if (known == null) {
            Class<?> message = find(name);
            Class<?> converter = Class.forName(message.getName() + "JsonConverter");
            known = new Entry(
                message,
                converter.getMethod("read", JsonNode.class, short.class),
                converter.getMethod("write", message, short.class));
            ENTRIES.put(name, known);
        }
        return known;
    }

    private static Class<?> find(String name) throws ClassNotFoundException {
        for (String prefix : PACKAGES) {
            for (String suffix : new String[] {"Data", ""}) {
                try {
                    return Class.forName(prefix + name + suffix);
                } catch (ClassNotFoundException e) {
                    continue;
                }
            }
        }
        throw new ClassNotFoundException(name);
    }
}
