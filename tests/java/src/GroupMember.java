import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * One consumer of a group: {@code GroupMember '{"servers": …, "group": …}'}.
 *
 * <p>Options, orders on stdin and lines on stdout are those of {@code tests/compat/group_member.py}.
 * The client's name says the protocol: {@code java} or {@code java/consumer}. With
 * {@code copies_to} and {@code transactional_id} it copies what it reads to partition 0 of a topic,
 * in one transaction with the offsets of each poll.
 */
public final class GroupMember {
    private static final Duration POLL = Duration.ofMillis(100);
    private static final String ASSIGNORS = "org.apache.kafka.clients.consumer.";
    private static final Map<String, String> STRATEGIES = Map.of(
        "range", ASSIGNORS + "RangeAssignor",
        "roundrobin", ASSIGNORS + "RoundRobinAssignor",
        "sticky", ASSIGNORS + "StickyAssignor",
        "cooperative-sticky", ASSIGNORS + "CooperativeStickyAssignor");

    private final ObjectMapper json = new ObjectMapper();
    private final Queue<String> orders = new ConcurrentLinkedQueue<>();
    private final JsonNode options;
    private final boolean broker;
    private List<List<Object>> known = List.of();
    private KafkaProducer<String, String> producer;

    private GroupMember(String text) throws IOException {
        options = json.readTree(text);
        broker = options.get("client").asText().endsWith("/consumer");
    }

    public static void main(String[] args) throws IOException {
        GroupMember member = new GroupMember(args[0]);
        Thread reader = new Thread(member::readOrders);
        reader.setDaemon(true);
        reader.start();
        member.run();
        System.exit(0);
    }

    private void readOrders() {
        try (BufferedReader lines = new BufferedReader(
                 new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            String line;
            while ((line = lines.readLine()) != null) {
                orders.add(line.strip());
            }
        } catch (IOException e) {
            // whoever gave orders is gone
        }
        orders.add("close");
    }

    private void run() throws IOException {
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(
                 config(), new StringDeserializer(), new StringDeserializer())) {
            subscribe(consumer);
            boolean open = true;
            while (open) {
                List<List<Object>> records = new ArrayList<>();
                ConsumerRecords<String, String> polled = consumer.poll(POLL);
                for (ConsumerRecord<String, String> one : polled) {
                    records.add(List.of(one.topic(), one.partition(), one.offset(), one.value()));
                }
                if (text("copies_to") != null && !polled.isEmpty()) {
                    copy(consumer, polled);
                }
                tellAssignment(consumer);
                for (List<Object> record : records) {
                    tell(Map.of("record", record));
                }
                String order = orders.poll();
                open = order == null || obey(consumer, order.split(" "));
            }
        } catch (RuntimeException e) {
            tell(Map.of("failed", e.toString()));
        }
        if (producer != null) {
            producer.close(Duration.ofSeconds(5));
        }
        tell(Map.of("closed", true));
    }

    private void copy(
            KafkaConsumer<String, String> consumer, ConsumerRecords<String, String> records) {
        if (producer == null) {
            producer = new KafkaProducer<>(
                Map.of(
                    "bootstrap.servers", text("servers"),
                    "transactional.id", text("transactional_id")),
                new StringSerializer(), new StringSerializer());
            producer.initTransactions();
        }
        producer.beginTransaction();
        for (ConsumerRecord<String, String> one : records) {
            producer.send(new ProducerRecord<>(text("copies_to"), 0, null, one.value()));
        }
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (TopicPartition place : records.partitions()) {
            offsets.put(place, new OffsetAndMetadata(consumer.position(place)));
        }
        producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
        producer.commitTransaction();
    }

    private Map<String, Object> config() {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", text("servers"));
        config.put("group.id", text("group"));
        config.put("auto.offset.reset", text("reset"));
        config.put("enable.auto.commit", options.path("auto_commit").asBoolean(false));
        config.put("auto.commit.interval.ms", 300);
        config.put("metadata.max.age.ms", 1000);
        if (text("copies_to") != null) {
            config.put("max.poll.records", 3);
        }
        if (text("instance") != null) {
            config.put("group.instance.id", text("instance"));
        }
        if (broker) {
            config.put("group.protocol", "consumer");
            if (text("strategy") != null) {
                config.put("group.remote.assignor", text("strategy"));
            }
        } else {
            String strategy = text("strategy") == null ? "range" : text("strategy");
            config.put("partition.assignment.strategy", STRATEGIES.get(strategy));
            config.put("session.timeout.ms", options.path("session_ms").asInt(45_000));
            config.put("heartbeat.interval.ms", 500);
        }
        return config;
    }

    private String text(String name) {
        JsonNode found = options.get(name);
        return found == null || found.isNull() ? null : found.asText();
    }

    private void subscribe(KafkaConsumer<String, String> consumer) {
        String pattern = text("pattern");
        if (pattern == null) {
            List<String> topics = new ArrayList<>();
            options.get("topics").forEach(one -> topics.add(one.asText()));
            consumer.subscribe(topics);
        } else if (broker) {
            consumer.subscribe(new SubscriptionPattern(pattern));
        } else {
            consumer.subscribe(Pattern.compile(pattern));
        }
    }

    private void tellAssignment(KafkaConsumer<String, String> consumer) throws IOException {
        List<List<Object>> owned = consumer.assignment().stream()
            .sorted(Comparator.comparing(TopicPartition::topic)
                .thenComparing(TopicPartition::partition))
            .map(one -> List.<Object>of(one.topic(), one.partition()))
            .toList();
        if (!owned.equals(known)) {
            known = owned;
            tell(Map.of("assigned", owned));
        }
    }

    private boolean obey(KafkaConsumer<String, String> consumer, String[] words)
            throws IOException {
        if (words[0].equals("close")) {
            return false;
        }
        switch (words[0]) {
            case "commit" -> {
                if (words[1].equals("async")) {
                    consumer.commitAsync();
                } else {
                    consumer.commitSync();
                }
            }
            case "pause" -> consumer.pause(places(consumer, words[1]));
            case "resume" -> consumer.resume(places(consumer, words[1]));
            default -> throw new IllegalArgumentException(words[0]);
        }
        tell(Map.of("did", String.join(" ", words)));
        return true;
    }

    private static Set<TopicPartition> places(
            KafkaConsumer<String, String> consumer, String partition) {
        int number = Integer.parseInt(partition);
        return consumer.assignment().stream()
            .filter(one -> one.partition() == number)
            .collect(java.util.stream.Collectors.toSet());
    }

    private void tell(Map<String, Object> what) throws IOException {
        System.out.println(json.writeValueAsString(what));
        System.out.flush();
    }
}
