import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Producers or consumers that a quota holds back: {@code QuotaRates operation count topic records
 * value_bytes key=value…}, where what follows are the settings of each client.
 *
 * <p>Each producer has twice so many records unacknowledged, and makes batches of so many; each
 * consumer reads on from the beginning. Ten times a second a line of JSON says when it was, in
 * seconds, and how many bytes of values there are by then. It ends with its standard input.
 */
public final class QuotaRates {
    private static final long EVERY_MS = 100;
    private static final AtomicLong TOTAL = new AtomicLong();

    private QuotaRates() {
    }

    public static void main(String[] args) throws Exception {
        String topic = args[2];
        int batchRecords = Integer.parseInt(args[3]);
        int valueBytes = Integer.parseInt(args[4]);
        Map<String, Object> settings = new HashMap<>();
        for (int at = 5; at < args.length; at++) {
            String[] parts = args[at].split("=", 2);
            settings.put(parts[0], parts[1]);
        }
        start(() -> {
            while (System.in.read() >= 0) {
                continue;
            }
            Runtime.getRuntime().halt(0);
        });
        for (int number = 0; number < Integer.parseInt(args[1]); number++) {
            if (args[0].equals("produce")) {
                start(() -> produce(settings, topic, batchRecords, valueBytes));
            } else {
                start(() -> consume(settings, topic));
            }
        }
        while (true) {
            System.out.println("[" + System.nanoTime() / 1e9 + ", " + TOTAL.get() + "]");
            System.out.flush();
            Thread.sleep(EVERY_MS);
        }
    }

    private interface Work {
        void run() throws Exception;
    }

    private static void start(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (Exception e) {
                e.printStackTrace();
                Runtime.getRuntime().halt(1);
            }
        });
        thread.start();
    }

    private static void produce(
            Map<String, Object> given, String topic, int batchRecords, int valueBytes)
            throws InterruptedException {
        Map<String, Object> settings = new HashMap<>(given);
        settings.put("acks", "1");
        settings.put("enable.idempotence", "false");
        settings.put("linger.ms", "5");
        settings.put("batch.size", String.valueOf(batchRecords * valueBytes));
        Semaphore room = new Semaphore(2 * batchRecords);
        byte[] value = new byte[valueBytes];
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(
                settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            while (true) {
                room.acquire();
                producer.send(new ProducerRecord<>(topic, 0, null, value), (sent, error) -> {
                    if (error != null) {
                        error.printStackTrace();
                        Runtime.getRuntime().halt(1);
                    }
                    TOTAL.addAndGet(valueBytes);
                    room.release();
                });
            }
        }
    }

    private static void consume(Map<String, Object> given, String topic) {
        Map<String, Object> settings = new HashMap<>(given);
        settings.put("auto.offset.reset", "earliest");
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            TopicPartition partition = new TopicPartition(topic, 0);
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            while (true) {
                for (ConsumerRecord<byte[], byte[]> one : consumer.poll(Duration.ofMillis(200))) {
                    TOTAL.addAndGet(one.value().length);
                }
            }
        }
    }
}
