import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * The Java client's round trips over TLS and SASL: {@code SecuredRoundTrip file.properties…}.
 *
 * <p>By the settings of each file: a transaction that is aborted and one that is committed, a
 * member of a group that reads what is committed, and a second one that begins behind it. Prints
 * one line for each file, {@code ok} and how many records were read, or what went wrong.
 */
public final class SecuredRoundTrip {
    private static final int RECORDS = 50;
    private static final long DEADLINE_MS = 30_000;

    private SecuredRoundTrip() {
    }

    public static void main(String[] args) {
        for (String file : args) {
            try {
                System.out.println("ok " + roundTrip(settings(file)));
            } catch (Throwable e) {
                Throwable cause = e.getCause() == null ? e : e.getCause();
                System.out.println((e + " " + cause).replace('\n', ' '));
            }
            System.out.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private static Map<String, Object> settings(String file) throws Exception {
        Properties properties = new Properties();
        try (var reader = Files.newBufferedReader(Path.of(file))) {
            properties.load(reader);
        }
        Map<String, Object> settings = new HashMap<>();
        properties.forEach((key, value) -> settings.put(key.toString(), value));
        return settings;
    }

    private static int roundTrip(Map<String, Object> settings) throws Exception {
        String topic = "java-" + UUID.randomUUID();
        try (Admin admin = Admin.create(settings)) {
            admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all()
                .get(10, TimeUnit.SECONDS);
        }
        produce(settings, topic);
        Map<String, Object> grouped = new HashMap<>(settings);
        grouped.put("group.id", topic);
        grouped.put("auto.offset.reset", "earliest");
        grouped.put("enable.auto.commit", "false");
        grouped.put("isolation.level", "read_committed");
        List<String> read = consume(grouped, topic);
        List<String> wanted = new ArrayList<>();
        for (int i = 0; i < RECORDS; i++) {
            wanted.add("value " + i);
        }
        check(read.equals(wanted), "read " + read);
        try (KafkaConsumer<String, String> second = consumer(grouped)) {
            TopicPartition partition = new TopicPartition(topic, 0);
            long begins = second.committed(Set.of(partition)).get(partition).offset();
            // Before them lie what was aborted and its marker, perhaps behind them their own.
            check(begins == RECORDS + 2 || begins == RECORDS + 3, "committed " + begins);
        }
        return read.size();
    }

    private static void produce(Map<String, Object> settings, String topic) {
        Map<String, Object> transactional = new HashMap<>(settings);
        transactional.put("transactional.id", topic);
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(
                 transactional, new StringSerializer(), new StringSerializer())) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, "aborted"));
            producer.flush();
            producer.abortTransaction();
            producer.beginTransaction();
            for (int i = 0; i < RECORDS; i++) {
                producer.send(new ProducerRecord<>(topic, "value " + i));
            }
            producer.commitTransaction();
        }
    }

    private static List<String> consume(Map<String, Object> grouped, String topic) {
        List<String> read = new ArrayList<>();
        try (KafkaConsumer<String, String> consumer = consumer(grouped)) {
            consumer.subscribe(Set.of(topic));
            long deadline = System.currentTimeMillis() + DEADLINE_MS;
            while (read.size() < RECORDS) {
                check(System.currentTimeMillis() < deadline, "only " + read.size() + " records");
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    read.add(record.value());
                }
            }
            consumer.commitSync();
        }
        return read;
    }

    private static KafkaConsumer<String, String> consumer(Map<String, Object> settings) {
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    private static void check(boolean condition, String message) {
        if (!condition) {
            throw new IllegalStateException(message);
        }
    }
}
