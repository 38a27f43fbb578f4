import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The Java client in one round trip: {@code RoundTrip bootstrap [records] [compression]
 * [group.protocol]}.
 *
 * <p>Creates a topic of three partitions, produces with acks=all and idempotence (keys, headers,
 * timestamps, null keys and null values among them), consumes all in a group of the classic or the
 * consumer protocol, commits, and lets a second member go on from the commit. Prints one line of JSON and
 * exits 0, or one line of what went wrong and exits 1.
 */
public final class RoundTrip {
    private static final int PARTITIONS = 3;
    private static final long TIMESTAMP_MS = 1_700_000_000_000L;
    private static final Duration POLL = Duration.ofMillis(200);
    private static final long DEADLINE_MS = 60_000;
    private static final Set<String> TOLD = Set.of(
        "join-total", "sync-total", "heartbeat-total", "last-heartbeat-seconds-ago",
        "connection-count", "request-total", "response-total", "fetch-total",
        "records-consumed-total", "last-poll-seconds-ago");

    private final String bootstrap;
    private final int count;
    private final String compression;
    private final String protocol;
    private final String topic = "java-" + UUID.randomUUID();
    private final String group = topic + "-group";

    private RoundTrip(String bootstrap, int count, String compression, String protocol) {
        this.bootstrap = bootstrap;
        this.count = count;
        this.compression = compression;
        this.protocol = protocol;
    }

    public static void main(String[] args) {
        try {
            int count = args.length > 1 ? Integer.parseInt(args[1]) : 1000;
            String compression = args.length > 2 ? args[2] : "none";
            String protocol = args.length > 3 ? args[3] : "classic";
            new RoundTrip(args[0], count, compression, protocol).run();
            System.exit(0);
        } catch (Throwable e) {
            System.out.println(e.toString().replace('\n', ' '));
            System.exit(1);
        }
    }

    private void run() throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            String clusterId = admin.describeCluster().clusterId().get(10, TimeUnit.SECONDS);
            admin.createTopics(List.of(new NewTopic(topic, PARTITIONS, (short) 1)
                // The records are years old: a check of retention amid the test would take them away.
                .configs(Map.of("min.insync.replicas", "1", "retention.ms", "-1")))).all().get(10, TimeUnit.SECONDS);
            TopicDescription description =
                admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
            check(description.partitions().size() == PARTITIONS, "partitions: " + description);

            produce(0, count);
            consume(0, count);
            produce(count, 10);
            consume(count, 10);

            Map<TopicPartition, OffsetAndMetadata> committed =
                admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
            long total = committed.values().stream().mapToLong(OffsetAndMetadata::offset).sum();
            check(total == count + 10, "committed offsets: " + committed);
            GroupState state =
                admin.describeConsumerGroups(List.of(group)).all().get().get(group).groupState();
            check(state == GroupState.EMPTY, "group state: " + state);
            admin.deleteConsumerGroups(List.of(group)).all().get(10, TimeUnit.SECONDS);
            admin.deleteTopics(List.of(topic)).all().get(10, TimeUnit.SECONDS);
            System.out.printf(
                "{\"client\": \"java\", \"cluster\": \"%s\", \"records\": %d, \"committed\": %d, "
                    + "\"compression\": \"%s\"}%n", clusterId, count + 10, total, compression);
        }
    }

    private void produce(int from, int number) throws Exception {
        Map<String, Object> config = Map.of(
            "bootstrap.servers", bootstrap,
            "acks", "all",
            "enable.idempotence", "true",
            "linger.ms", "5",
            "compression.type", compression);
        try (KafkaProducer<byte[], byte[]> producer =
                 new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int i = from; i < from + number; i++) {
                ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(
                    topic, i % PARTITIONS, TIMESTAMP_MS + i, key(i), value(i));
                record.headers().add("number", ByteBuffer.allocate(4).putInt(i).array());
                record.headers().add("nothing", null);
                sent.add(producer.send(record));
            }
            producer.flush();
            for (int i = 0; i < number; i++) {
                RecordMetadata metadata = sent.get(i).get();
                int expected = (from + i) / PARTITIONS;
                check(metadata.offset() == expected, "offset " + metadata + ", not " + expected);
            }
        }
    }

    private void consume(int from, int number) {
        Map<String, Object> config = Map.of(
            "bootstrap.servers", bootstrap,
            "group.id", group,
            "group.protocol", protocol,
            "auto.offset.reset", "earliest",
            "enable.auto.commit", "false",
            // An answer that never comes shows as records that do not come, not as a second try.
            "request.timeout.ms", String.valueOf(2 * DEADLINE_MS));
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                 config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(Set.of(topic));
            long deadline = System.currentTimeMillis() + DEADLINE_MS;
            Map<Integer, Integer> next = new HashMap<>();
            for (int i = from; i < from + PARTITIONS; i++) {
                next.put(i % PARTITIONS, i);
            }
            int received = 0;
            while (received < number) {
                if (System.currentTimeMillis() > deadline) {
                    throw new IllegalStateException(
                        "only " + received + " of " + number + ": " + stateOf(consumer));
                }
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
                    int i = next.get(record.partition());
                    verify(record, i);
                    next.put(record.partition(), i + PARTITIONS);
                    received++;
                }
            }
            consumer.commitSync();
        }
    }

    /** How far a consumer is that gets nothing: its part of the group, its positions, its requests. */
    private String stateOf(KafkaConsumer<byte[], byte[]> consumer) {
        StringBuilder state = new StringBuilder(consumer.groupMetadata().toString());
        for (TopicPartition partition : consumer.assignment()) {
            state.append(", ").append(partition).append(" lag ").append(consumer.currentLag(partition));
        }
        for (Map.Entry<MetricName, ? extends Metric> each : consumer.metrics().entrySet()) {
            if (TOLD.contains(each.getKey().name()) && each.getKey().tags().size() < 2) {
                state.append(", ").append(each.getKey().name()).append(" ");
                state.append(each.getValue().metricValue());
            }
        }
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            state.append(", ").append(
                admin.describeConsumerGroups(List.of(group)).all().get(10, TimeUnit.SECONDS));
        } catch (Exception e) {
            state.append(", the group cannot be described: ").append(e);
        }
        return state.toString();
    }

    private static void verify(ConsumerRecord<byte[], byte[]> record, int i) {
        check(record.offset() == i / PARTITIONS, "offset of record " + i + ": " + record);
        check(record.timestamp() == TIMESTAMP_MS + i, "timestamp of record " + i + ": " + record);
        check(same(record.key(), key(i)), "key of record " + i + ": " + record);
        check(same(record.value(), value(i)), "value of record " + i + ": " + record);
        int number = ByteBuffer.wrap(record.headers().lastHeader("number").value()).getInt();
        check(number == i, "header of record " + i + ": " + record);
        check(record.headers().lastHeader("nothing").value() == null, "null header: " + record);
    }

    private static byte[] key(int i) {
        return i % 7 == 0 ? null : ("key-" + i).getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] value(int i) {
        return i % 11 == 0 ? null : ("value " + i + " é").repeat(20).getBytes(StandardCharsets.UTF_8);
    }

    private static boolean same(byte[] one, byte[] two) {
        return java.util.Arrays.equals(one, two);
    }

    private static void check(boolean condition, String message) {
        if (!condition) {
            throw new IllegalStateException(message);
        }
    }
}
