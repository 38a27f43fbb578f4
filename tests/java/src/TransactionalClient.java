import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Transactional producers and a reader that obey lines on stdin, each answered by one line.
 *
 * <pre>
 * open NAME SERVERS ID TIMEOUT_MS      begin | flush | commit | abort | close NAME
 * send NAME TOPIC PARTITION VALUE      offsets NAME GROUP TOPIC PARTITION OFFSET
 * read SERVERS TOPIC ISOLATION LAST    the values before LAST, by spaces
 *     →  ok [values]  |  fenced words  |  failed words
 * </pre>
 */
public final class TransactionalClient {
    private static final Duration POLL = Duration.ofMillis(200);
    private static final long READ_MS = 30_000;

    private final Map<String, KafkaProducer<String, String>> producers = new HashMap<>();

    private TransactionalClient() {
    }

    public static void main(String[] args) throws Exception {
        TransactionalClient client = new TransactionalClient();
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = lines.readLine()) != null) {
            System.out.println(client.answer(line.split(" ")));
            System.out.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private String answer(String[] words) {
        try {
            return ("ok " + obey(words)).strip();
        } catch (RuntimeException e) {
            return (isFencing(e) ? "fenced " : "failed ") + e.toString().replace('\n', ' ');
        }
    }

    private static boolean isFencing(Throwable e) {
        for (Throwable one = e; one != null; one = one.getCause()) {
            if (one instanceof ProducerFencedException
                || one instanceof InvalidProducerEpochException) {
                return true;
            }
        }
        return false;
    }

    private String obey(String[] words) {
        if (words[0].equals("open")) {
            open(words);
            return "";
        }
        if (words[0].equals("read")) {
            return read(words[1], words[2], words[3], words[4]);
        }
        KafkaProducer<String, String> producer = producers.get(words[1]);
        switch (words[0]) {
            case "begin" -> producer.beginTransaction();
            case "send" -> producer.send(
                new ProducerRecord<>(words[2], Integer.valueOf(words[3]), null, words[4]));
            case "flush" -> producer.flush();
            case "offsets" -> producer.sendOffsetsToTransaction(
                Map.of(
                    new TopicPartition(words[3], Integer.parseInt(words[4])),
                    new OffsetAndMetadata(Long.parseLong(words[5]))),
                new ConsumerGroupMetadata(words[2]));
            case "commit" -> producer.commitTransaction();
            case "abort" -> producer.abortTransaction();
            case "close" -> producers.remove(words[1]).close(Duration.ZERO);
            default -> throw new IllegalArgumentException(words[0]);
        }
        return "";
    }

    private void open(String[] words) {
        Map<String, Object> config = Map.of(
            "bootstrap.servers", words[2],
            "transactional.id", words[3],
            "transaction.timeout.ms", Integer.parseInt(words[4]),
            "delivery.timeout.ms", 60_000,
            "request.timeout.ms", 20_000,
            "linger.ms", 2);
        KafkaProducer<String, String> producer =
            new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
        producer.initTransactions();
        producers.put(words[1], producer);
    }

    private static String read(String servers, String topic, String isolation, String last) {
        Map<String, Object> config = Map.of(
            "bootstrap.servers", servers,
            "isolation.level", isolation,
            "auto.offset.reset", "earliest");
        StringBuilder found = new StringBuilder();
        try (KafkaConsumer<String, String> consumer =
                 new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(List.of(new TopicPartition(topic, 0)));
            long deadline = System.currentTimeMillis() + READ_MS;
            while (System.currentTimeMillis() < deadline) {
                for (ConsumerRecord<String, String> record : consumer.poll(POLL)) {
                    if (record.value().equals(last)) {
                        return found.toString().strip();
                    }
                    found.append(record.value()).append(' ');
                }
            }
        }
        throw new KafkaException(last + " does not come; found: " + found);
    }
}
