import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Transactional producers, by their transactional ids; compat/transactions/program.py explains the requests. */
final class Transactions {
    private final String bootstrap;
    private final Members members;
    private final Map<String, KafkaProducer<byte[], byte[]>> producers = new HashMap<>();

    Transactions(String bootstrap, Members members) {
        this.bootstrap = bootstrap;
        this.members = members;
    }

    void start(JsonNode request) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("transactional.id", request.get("transactional_id").asText());
        properties.put("max.block.ms", CompatClient.WAIT_MAX.toMillis());
        KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer());
        producers.put(request.get("producer").asText(), producer);
        producer.initTransactions();
    }

    void begin(JsonNode request) {
        producer(request).beginTransaction();
    }

    void send(JsonNode request) throws IOException {
        for (JsonNode each : request.get("records")) {
            producer(request).send(CompatClient.toBeSent(request.get("topic").asText(), each));
        }
        producer(request).flush();
    }

    void sendOffsets(JsonNode request) {
        KafkaConsumer<byte[], byte[]> consumer = members.consumer(request);
        Map<TopicPartition, OffsetAndMetadata> positions = new HashMap<>();
        for (TopicPartition partition : consumer.assignment()) {
            positions.put(partition, new OffsetAndMetadata(consumer.position(partition)));
        }
        producer(request).sendOffsetsToTransaction(positions, consumer.groupMetadata());
    }

    void commit(JsonNode request) {
        producer(request).commitTransaction();
    }

    void abort(JsonNode request) {
        producer(request).abortTransaction();
    }

    void close(JsonNode request) {
        producers.remove(request.get("producer").asText()).close();
    }

    private KafkaProducer<byte[], byte[]> producer(JsonNode request) {
        return producers.get(request.get("producer").asText());
    }
}
