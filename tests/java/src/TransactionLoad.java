import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Transactions a second: {@code TransactionLoad servers topic partitions producers window_s}.
 *
 * <p>Each producer makes one transaction of ten records after another; a consumer of committed
 * records sees them all. Windows of load until two successive ones differ by less than 5 %, then
 * one that counts. Prints a line of JSON: rate, and milliseconds from the send of a record to its
 * arrival at the consumer.
 */
public final class TransactionLoad {
    private static final int RECORDS = 10;
    private static final int VALUE_BYTES = 100;
    private static final int WINDOWS_MAX = 6;
    private static final double STEADY = 0.05;
    private static final long START_MS = 60_000;

    private final AtomicBoolean stopping = new AtomicBoolean();
    private final AtomicLong committed = new AtomicLong();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private volatile List<Long> trips;

    private TransactionLoad() {
    }

    public static void main(String[] args) throws InterruptedException {
        TransactionLoad load = new TransactionLoad();
        load.run(args[0], args[1], Integer.parseInt(args[2]), Integer.parseInt(args[3]),
            (long) (Double.parseDouble(args[4]) * 1000));
        Runtime.getRuntime().halt(load.failure.get() == null ? 0 : 1);
    }

    private void run(String servers, String topic, int partitions, int producers, long windowMs)
        throws InterruptedException {
        start(() -> consume(servers, topic, partitions));
        for (int number = 0; number < producers; number++) {
            int mine = number;
            start(() -> produce(servers, topic, partitions, mine));
        }
        long deadline = System.currentTimeMillis() + START_MS;
        while (committed.get() < producers && failure.get() == null) {
            if (System.currentTimeMillis() > deadline) {
                failure.compareAndSet(null, new IllegalStateException("nothing is committed"));
            }
            Thread.sleep(10);
        }
        double before = window(windowMs);
        for (int windows = 2; windows <= WINDOWS_MAX && failure.get() == null; windows++) {
            double rate = window(windowMs);
            if (before > 0 && Math.abs(rate - before) < STEADY * before) {
                break;
            }
            before = rate;
        }
        List<Long> measured = new ArrayList<>();
        trips = measured;
        double rate = window(windowMs);
        trips = null;
        stopping.set(true);
        if (failure.get() != null) {
            System.out.println(failure.get().toString().replace('\n', ' '));
            return;
        }
        long[] sorted;
        synchronized (measured) {
            sorted = measured.stream().mapToLong(Long::longValue).sorted().toArray();
        }
        System.out.printf("{\"rate\": %.2f, \"p50_ms\": %.4f, \"p99_ms\": %.4f}%n",
            rate, at(sorted, 0.5), at(sorted, 0.99));
        System.out.flush();
    }

    private static double at(long[] sorted, double part) {
        return sorted.length == 0 ? Double.NaN : sorted[(int) (sorted.length * part)] / 1e6;
    }

    private double window(long windowMs) throws InterruptedException {
        long before = committed.get();
        long began = System.nanoTime();
        Thread.sleep(windowMs);
        return (committed.get() - before) * 1e9 / (System.nanoTime() - began);
    }

    private void start(Runnable work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (Throwable e) {
                failure.compareAndSet(null, e);
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    private void produce(String servers, String topic, int partitions, int number) {
        Map<String, Object> config = Map.of(
            "bootstrap.servers", servers,
            "transactional.id", topic + "-" + number,
            "linger.ms", 0);
        try (KafkaProducer<byte[], byte[]> producer =
                 new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            producer.initTransactions();
            while (!stopping.get()) {
                producer.beginTransaction();
                for (int record = 0; record < RECORDS; record++) {
                    byte[] value = Arrays.copyOf(
                        ByteBuffer.allocate(8).putLong(System.nanoTime()).array(), VALUE_BYTES);
                    producer.send(new ProducerRecord<>(topic, number % partitions, null, value));
                }
                // Under protocol 2 kafka-clients now and then sends EndTxn before the records of
                // a transaction that is begun and committed within a moment, which is fatal to it. A
                // flush before waits for no more than the commit would.
                producer.flush();
                producer.commitTransaction();
                committed.incrementAndGet();
            }
        }
    }

    private void consume(String servers, String topic, int partitions) {
        Map<String, Object> config = Map.of(
            "bootstrap.servers", servers,
            "isolation.level", "read_committed",
            "auto.offset.reset", "earliest");
        List<TopicPartition> places = new ArrayList<>();
        for (int partition = 0; partition < partitions; partition++) {
            places.add(new TopicPartition(topic, partition));
        }
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                 config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(places);
            while (!stopping.get()) {
                Iterable<ConsumerRecord<byte[], byte[]>> records =
                    consumer.poll(Duration.ofMillis(100));
                List<Long> into = trips;
                if (into == null) {
                    continue;
                }
                long now = System.nanoTime();
                synchronized (into) {
                    for (ConsumerRecord<byte[], byte[]> record : records) {
                        into.add(now - ByteBuffer.wrap(record.value()).getLong());
                    }
                }
            }
        }
    }
}
