import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Java's share consumer in small scripts: {@code ShareRounds bootstrap [script …]}.
 *
 * <p>Each script has a topic of one partition and a group of its own. Prints one line for each: its
 * name, and what it saw. {@code tests/compat/test_java_share_consumer.py} has the expected lines.
 */
public final class ShareRounds {
    private static final Duration POLL = Duration.ofMillis(200);
    private static final long DEADLINE_MS = 60_000;
    private static final long LOCK_MS = 2_000;

    private interface Script {
        String run(ShareRounds round) throws Exception;
    }

    private final String bootstrap;
    private final String topic = "share-" + UUID.randomUUID();
    private final Admin admin;
    private final List<KafkaShareConsumer<String, String>> open = new ArrayList<>();

    private ShareRounds(String bootstrap, Admin admin) throws Exception {
        this.bootstrap = bootstrap;
        this.admin = admin;
        admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get(10, TimeUnit.SECONDS);
        configure("share.auto.offset.reset", "earliest");
    }

    public static void main(String[] args) throws Exception {
        Map<String, Script> scripts = new LinkedHashMap<>();
        scripts.put("implicit", ShareRounds::implicit);
        scripts.put("explicit", ShareRounds::explicit);
        scripts.put("explicit, not all acknowledged", ShareRounds::notAllAcknowledged);
        scripts.put("renew", ShareRounds::renew);
        scripts.put("commitSync", ShareRounds::commitSync);
        scripts.put("commitAsync", ShareRounds::commitAsync);
        scripts.put("callback at close", ShareRounds::callbackAtClose);
        scripts.put("after the lock", ShareRounds::afterTheLock);
        scripts.put("close", ShareRounds::close);
        scripts.put("batch_optimized", ShareRounds::batchOptimized);
        scripts.put("record_limit", ShareRounds::recordLimit);
        scripts.put("two members", ShareRounds::twoMembers);
        scripts.put("delivery limit", ShareRounds::deliveryLimit);
        scripts.put("read_uncommitted", round -> round.transactions("read_uncommitted"));
        scripts.put("read_committed", round -> round.transactions("read_committed"));
        if (args.length > 1) {
            scripts.keySet().retainAll(List.of(args).subList(1, args.length));
        }
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", args[0]))) {
            for (Map.Entry<String, Script> script : scripts.entrySet()) {
                ShareRounds round = new ShareRounds(args[0], admin);
                String seen;
                try {
                    seen = script.getValue().run(round);
                } catch (Exception e) {
                    seen = e.toString().replace('\n', ' ');
                } finally {
                    round.open.forEach(KafkaShareConsumer::close);
                }
                System.out.println(script.getKey() + ": " + seen);
            }
        }
        System.exit(0);
    }

    private String implicit() throws Exception {
        produce(5);
        KafkaShareConsumer<String, String> consumer = consumer();
        String first = shown(poll(consumer, 5));
        consumer.poll(POLL);
        consumer.close();
        return first + "; then " + shown(poll(consumer(), 5, 2_000));
    }

    private String explicit() throws Exception {
        produce(4);
        KafkaShareConsumer<String, String> consumer = consumer("share.acknowledgement.mode", "explicit");
        List<ConsumerRecord<String, String>> first = poll(consumer, 4);
        consumer.acknowledge(first.get(0), AcknowledgeType.ACCEPT);
        consumer.acknowledge(first.get(1), AcknowledgeType.RELEASE);
        consumer.acknowledge(first.get(2), AcknowledgeType.REJECT);
        consumer.acknowledge(first.get(3), AcknowledgeType.RELEASE);
        List<ConsumerRecord<String, String>> again = poll(consumer, 2);
        again.forEach(consumer::acknowledge);
        return shown(first) + "; then " + shown(again) + " " + shown(consumer.commitSync());
    }

    private String notAllAcknowledged() throws Exception {
        produce(2);
        KafkaShareConsumer<String, String> consumer = consumer("share.acknowledgement.mode", "explicit");
        consumer.acknowledge(poll(consumer, 2).get(0));
        try {
            return shown(poll(consumer, 1));
        } catch (IllegalStateException e) {
            return "IllegalStateException";
        }
    }

    private String renew() throws Exception {
        configure("share.record.lock.duration.ms", String.valueOf(LOCK_MS));
        produce(2);
        KafkaShareConsumer<String, String> consumer = consumer("share.acknowledgement.mode", "explicit");
        List<ConsumerRecord<String, String>> records = poll(consumer, 2);
        String first = shown(records) + " for " + consumer.acquisitionLockTimeoutMs().orElse(-1) + " ms";
        consumer.acknowledge(records.get(1), AcknowledgeType.ACCEPT);
        long end = System.currentTimeMillis() + 2 * LOCK_MS;
        ConsumerRecord<String, String> held = records.get(0);
        while (System.currentTimeMillis() < end) {
            consumer.acknowledge(held, AcknowledgeType.RENEW);
            check(consumer.commitSync());
            held = poll(consumer, 1).get(0);
            TimeUnit.MILLISECONDS.sleep(LOCK_MS / 4);
        }
        consumer.acknowledge(held, AcknowledgeType.ACCEPT);
        return first + "; then " + shown(List.of(held)) + ", " + shown(consumer.commitSync());
    }

    private String commitSync() throws Exception {
        produce(3);
        KafkaShareConsumer<String, String> consumer = consumer();
        poll(consumer, 3);
        return shown(consumer.commitSync()) + "; then " + shown(consumer.commitSync());
    }

    private String commitAsync() throws Exception {
        produce(3);
        KafkaShareConsumer<String, String> consumer = consumer();
        List<String> calls = called(consumer);
        poll(consumer, 3);
        consumer.commitAsync();
        long end = System.currentTimeMillis() + DEADLINE_MS;
        while (calls.isEmpty() && System.currentTimeMillis() < end) {
            consumer.poll(POLL);
        }
        return calls.toString();
    }

    private String callbackAtClose() throws Exception {
        produce(3);
        KafkaShareConsumer<String, String> consumer = consumer("share.acknowledgement.mode", "explicit");
        List<String> calls = called(consumer);
        poll(consumer, 3).forEach(consumer::acknowledge);
        consumer.close();
        return calls.toString();
    }

    private String afterTheLock() throws Exception {
        configure("share.record.lock.duration.ms", String.valueOf(LOCK_MS));
        produce(1);
        KafkaShareConsumer<String, String> late = consumer("share.acknowledgement.mode", "explicit");
        ConsumerRecord<String, String> record = poll(late, 1).get(0);
        configure("share.record.lock.duration.ms", "60000");
        KafkaShareConsumer<String, String> other = consumer();
        String again = shown(poll(other, 1));
        late.acknowledge(record);
        return again + "; then " + shown(late.commitSync());
    }

    private String close() throws Exception {
        produce(4);
        KafkaShareConsumer<String, String> consumer = consumer("share.acknowledgement.mode", "explicit");
        poll(consumer, 4).stream().limit(2).forEach(consumer::acknowledge);
        consumer.close();
        return shown(poll(consumer(), 2));
    }

    private String batchOptimized() throws Exception {
        produce(10);
        return pollSizes("batch_optimized");
    }

    private String recordLimit() throws Exception {
        produce(10);
        return pollSizes("record_limit");
    }

    /** The sizes of the polls of a member that asks for at most three records. */
    private String pollSizes(String mode) {
        List<Integer> sizes = new ArrayList<>();
        KafkaShareConsumer<String, String> consumer =
            consumer("share.acquire.mode", mode, "max.poll.records", "3");
        int records = 0;
        long end = System.currentTimeMillis() + DEADLINE_MS;
        while (records < 10 && System.currentTimeMillis() < end) {
            int polled = consumer.poll(POLL).count();
            if (polled > 0) {
                sizes.add(polled);
                records += polled;
            }
        }
        return sizes.toString();
    }

    private String twoMembers() throws Exception {
        KafkaShareConsumer<String, String> one = consumer("max.poll.records", "1", "share.acquire.mode", "record_limit");
        KafkaShareConsumer<String, String> two = consumer("max.poll.records", "1", "share.acquire.mode", "record_limit");
        Set<Long> offsets = new TreeSet<>();
        Map<String, Integer> each = new HashMap<>(Map.of("one", 0, "two", 0));
        long end = System.currentTimeMillis() + DEADLINE_MS;
        int written = 0;
        while ((each.get("one") == 0 || each.get("two") == 0 || offsets.size() < written)
                && System.currentTimeMillis() < end) {
            if (written < 200) {
                produce(2);
                written += 2;
            }
            one.poll(POLL).forEach(record -> note(record, "one", offsets, each));
            two.poll(POLL).forEach(record -> note(record, "two", offsets, each));
        }
        boolean once = each.get("one") + each.get("two") == offsets.size() && offsets.size() == written;
        return once ? "each record once, to both members" : each + " of " + written + ": " + offsets;
    }

    private static void note(
            ConsumerRecord<String, String> record, String member, Set<Long> offsets, Map<String, Integer> each) {
        offsets.add(record.offset());
        each.merge(member, 1, Integer::sum);
    }

    private String deliveryLimit() throws Exception {
        configure("share.delivery.count.limit", "2");
        produce(2);
        KafkaShareConsumer<String, String> consumer = consumer("share.acknowledgement.mode", "explicit");
        List<String> seen = new ArrayList<>();
        for (int delivery = 0; delivery < 2; delivery++) {
            List<ConsumerRecord<String, String>> records = poll(consumer, 2);
            seen.add(shown(records));
            records.forEach(record -> consumer.acknowledge(record, AcknowledgeType.RELEASE));
            check(consumer.commitSync());
        }
        produce(1);
        List<ConsumerRecord<String, String>> last = poll(consumer, 1);
        last.forEach(consumer::acknowledge);
        check(consumer.commitSync());
        return String.join("; then ", seen) + "; then " + shown(last);
    }

    private String transactions(String level) throws Exception {
        configure("share.isolation.level", level);
        try (KafkaProducer<String, String> producer = producer(Map.of("transactional.id", topic))) {
            producer.initTransactions();
            for (boolean commit : new boolean[] {false, true}) {
                producer.beginTransaction();
                producer.send(new ProducerRecord<>(topic, commit ? "committed" : "aborted"));
                if (commit) {
                    producer.commitTransaction();
                } else {
                    producer.flush();
                    producer.abortTransaction();
                }
            }
        }
        produce(1);
        List<String> values = new ArrayList<>();
        KafkaShareConsumer<String, String> consumer = consumer();
        long end = System.currentTimeMillis() + DEADLINE_MS;
        while (!values.contains("0") && System.currentTimeMillis() < end) {
            consumer.poll(POLL).forEach(record -> values.add(record.value()));
        }
        return values.toString();
    }

    private KafkaShareConsumer<String, String> consumer(String... configs) {
        Map<String, Object> config = new HashMap<>(Map.of("bootstrap.servers", bootstrap, "group.id", topic));
        for (int i = 0; i < configs.length; i += 2) {
            config.put(configs[i], configs[i + 1]);
        }
        KafkaShareConsumer<String, String> consumer =
            new KafkaShareConsumer<>(config, new StringDeserializer(), new StringDeserializer());
        consumer.subscribe(Set.of(topic));
        open.add(consumer);
        return consumer;
    }

    private KafkaProducer<String, String> producer(Map<String, Object> configs) {
        Map<String, Object> config = new HashMap<>(configs);
        config.put("bootstrap.servers", bootstrap);
        config.put("linger.ms", "60000"); // one batch: flush ends it
        return new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
    }

    private void produce(int count) throws Exception {
        try (KafkaProducer<String, String> producer = producer(Map.of())) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                sent.add(producer.send(new ProducerRecord<>(topic, String.valueOf(i))));
            }
            producer.flush();
            for (Future<RecordMetadata> each : sent) {
                each.get();
            }
        }
    }

    private void configure(String key, String value) throws Exception {
        admin.incrementalAlterConfigs(Map.of(
            new ConfigResource(ConfigResource.Type.GROUP, topic),
            List.of(new AlterConfigOp(new ConfigEntry(key, value), AlterConfigOp.OpType.SET))))
            .all().get(10, TimeUnit.SECONDS);
    }

    private static List<ConsumerRecord<String, String>> poll(
            KafkaShareConsumer<String, String> consumer, int count) {
        return poll(consumer, count, DEADLINE_MS);
    }

    /** The records of the first poll that has any; a batch comes whole. */
    private static List<ConsumerRecord<String, String>> poll(
            KafkaShareConsumer<String, String> consumer, int count, long deadlineMs) {
        List<ConsumerRecord<String, String>> records = new ArrayList<>();
        long end = System.currentTimeMillis() + deadlineMs;
        while (records.isEmpty() && System.currentTimeMillis() < end) {
            consumer.poll(POLL).forEach(records::add);
        }
        if (!records.isEmpty() && records.size() != count) {
            throw new IllegalStateException(records.size() + " records, not " + count);
        }
        return records;
    }

    private List<String> called(KafkaShareConsumer<String, String> consumer) {
        List<String> calls = new ArrayList<>();
        consumer.setAcknowledgementCommitCallback((offsets, exception) ->
            calls.add(offsets.entrySet().stream()
                .map(entry -> entry.getKey().partition() + " " + new TreeSet<>(entry.getValue()))
                .collect(Collectors.joining(", ")) + " " + exception));
        return calls;
    }

    private static String shown(List<ConsumerRecord<String, String>> records) {
        return records.isEmpty() ? "nothing" : records.stream()
            .map(record -> record.offset() + "x" + record.deliveryCount().orElse((short) 0))
            .collect(Collectors.joining(" "));
    }

    private static String shown(Map<TopicIdPartition, Optional<KafkaException>> outcome) {
        return outcome.entrySet().stream()
            .map(entry -> entry.getKey().partition() + " "
                + entry.getValue().map(e -> e.getClass().getSimpleName()).orElse("committed"))
            .collect(Collectors.joining(", ", "{", "}"));
    }

    private static void check(Map<TopicIdPartition, Optional<KafkaException>> outcome) {
        outcome.values().forEach(error -> error.ifPresent(e -> {
            throw e;
        }));
    }
}
