import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * What a producer with a transactional id is told: {@code TransactionalRefusal servers}.
 *
 * <p>Prints one line of JSON: the exception of initTransactions, whether it may be retried, after
 * how many milliseconds, and the exception of beginTransaction after it.
 */
public final class TransactionalRefusal {
    private TransactionalRefusal() {}

    public static void main(String[] args) {
        Properties config = new Properties();
        config.put("bootstrap.servers", args[0]);
        config.put("transactional.id", "refused");
        config.put("max.block.ms", "15000");
        config.put("key.serializer", ByteArraySerializer.class.getName());
        config.put("value.serializer", ByteArraySerializer.class.getName());
        Map<String, Object> told = new LinkedHashMap<>();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config)) {
            long start = System.nanoTime();
            tell(told, "init", producer::initTransactions);
            told.put("init_ms", (System.nanoTime() - start) / 1_000_000);
            tell(told, "begin", producer::beginTransaction);
        }
        System.out.println(json(told));
    }

    private static void tell(Map<String, Object> told, String step, Runnable call) {
        try {
            call.run();
            told.put(step, "nothing");
        } catch (RuntimeException e) {
            told.put(step, e.getClass().getSimpleName());
            told.put(step + "_message", String.valueOf(e.getMessage()));
            told.put(step + "_retriable", e instanceof RetriableException);
        }
    }

    private static String json(Map<String, Object> values) {
        StringBuilder out = new StringBuilder("{");
        for (Map.Entry<String, Object> entry : values.entrySet()) {
            Object value = entry.getValue();
            String shown = value instanceof String text
                ? "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\""
                : String.valueOf(value);
            out.append(out.length() > 1 ? "," : "").append("\"" + entry.getKey() + "\":" + shown);
        }
        return out.append("}").toString();
    }
}
