import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Consumes, transforms and produces, one transaction for each line of its input: a name, and how it is to end.
 *
 * <p>It answers with the known state of the transaction (OPEN, ENDING, COMMITTED, ABORTED), a line each, then
 * "done", or "failed" and why. transactions_check.py explains the records.
 */
final class TransformLoop {
    private static final Duration POLL = Duration.ofMillis(200);
    private static final int RECORDS_MAX = 40;
    private static final int PARTITIONS = 3;
    private static final int CALL_TIMEOUT_MS = 10_000;
    private static final long ANSWER_TIMEOUT_MS = 60_000;

    private final Properties shared = new Properties();
    private final String transactionalId;
    private final String target;
    private final int copies;
    private final KafkaConsumer<String, String> consumer;
    private KafkaProducer<String, String> producer;

    private TransformLoop(String bootstrap, String id, String group, String source, String target, int copies) {
        shared.put("bootstrap.servers", bootstrap);
        shared.put("reconnect.backoff.ms", "20");
        shared.put("reconnect.backoff.max.ms", "100");
        shared.put("retry.backoff.ms", "20");
        this.transactionalId = id;
        this.target = target;
        this.copies = copies;
        Properties properties = new Properties();
        properties.putAll(shared);
        properties.put("group.id", group);
        properties.put("auto.offset.reset", "earliest");
        properties.put("enable.auto.commit", "false");
        properties.put("isolation.level", "read_committed");
        properties.put("max.poll.records", RECORDS_MAX);
        properties.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer.RangeAssignor");
        consumer = new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer());
        consumer.subscribe(List.of(source));
    }

    public static void main(String[] given) throws IOException {
        TransformLoop loop =
                new TransformLoop(given[0], given[1], given[2], given[3], given[4], Integer.parseInt(given[5]));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            try {
                loop.transform(words[0], words[1]);
                tell("done");
            } catch (RuntimeException failed) {
                tell("failed " + failed);
            }
        }
        loop.consumer.close(Duration.ofMillis(CALL_TIMEOUT_MS));
    }

    private static void tell(String word) {
        System.out.println(word);
        System.out.flush();
    }

    private void transform(String name, String manner) {
        if (producer == null) {
            replaceProducer();
        }
        ConsumerRecords<String, String> records = consumer.poll(POLL);
        if (records.isEmpty()) {
            return;
        }
        tell("OPEN");
        try {
            producer.beginTransaction();
            write(name, records);
            sendOffsets(records);
            if (manner.equals("commit")) {
                tell("ENDING");
                insist(() -> producer.commitTransaction());
                tell("COMMITTED");
                return;
            }
            if (manner.equals("abort")) {
                insist(() -> producer.abortTransaction());
                tell("ABORTED");
            } else {
                producer.flush();
                replaceProducer();
            }
        } catch (Stuck stuck) {
            throw stuck;
        } catch (KafkaException failed) {
            abortOrReplace();
        }
        rewind();
    }

    private void write(String name, ConsumerRecords<String, String> records) {
        for (ConsumerRecord<String, String> record : records) {
            for (int copy = 0; copy < copies; copy++) {
                String value =
                        String.join(
                                " ",
                                name,
                                Integer.toString(records.count() * copies),
                                Integer.toString(record.partition()),
                                Long.toString(record.offset()),
                                Integer.toString(copy));
                int partition = ThreadLocalRandom.current().nextInt(PARTITIONS);
                producer.send(new ProducerRecord<>(target, partition, null, value));
            }
        }
    }

    private void sendOffsets(ConsumerRecords<String, String> records) {
        Map<TopicPartition, OffsetAndMetadata> following = new HashMap<>();
        for (TopicPartition partition : records.partitions()) {
            List<ConsumerRecord<String, String>> read = records.records(partition);
            following.put(partition, new OffsetAndMetadata(read.get(read.size() - 1).offset() + 1));
        }
        producer.sendOffsetsToTransaction(following, consumer.groupMetadata());
    }

    /** After a new producer the last reported state stays: the new one has the transaction aborted, or ended. */
    private void abortOrReplace() {
        try {
            insist(() -> producer.abortTransaction());
            tell("ABORTED");
        } catch (Stuck stuck) {
            throw stuck;
        } catch (KafkaException failed) {
            replaceProducer();
        }
    }

    private void replaceProducer() {
        if (producer != null) {
            producer.close(Duration.ZERO); // at once, so that it does not abort
        }
        Properties properties = new Properties();
        properties.putAll(shared);
        properties.put("transactional.id", transactionalId);
        properties.put("max.block.ms", CALL_TIMEOUT_MS);
        producer = new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer());
        insist(() -> producer.initTransactions());
    }

    private void rewind() {
        Map<TopicPartition, OffsetAndMetadata>[] committed = newArray();
        insist(() -> committed[0] = consumer.committed(consumer.assignment()));
        committed[0].forEach(
                (partition, offset) -> consumer.seek(partition, offset == null ? 0 : offset.offset()));
    }

    @SuppressWarnings("unchecked")
    private static Map<TopicPartition, OffsetAndMetadata>[] newArray() {
        return new Map[1];
    }

    /** Asks until there is an answer. */
    private static void insist(Runnable call) {
        long deadline = System.currentTimeMillis() + ANSWER_TIMEOUT_MS;
        while (true) {
            try {
                call.run();
                return;
            } catch (RetriableException passing) {
                if (System.currentTimeMillis() > deadline) {
                    throw new Stuck(passing);
                }
            }
        }
    }

    /** No answer for too long. */
    private static final class Stuck extends RuntimeException {
        private Stuck(Throwable last) {
            super(last);
        }
    }
}
