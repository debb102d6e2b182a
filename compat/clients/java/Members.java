import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Consumers in groups, by the names that the suite gives them; compat/members/program.py explains the requests. */
final class Members {
    private static final int SESSION_TIMEOUT_MS = 10_000;
    private static final int HEARTBEAT_INTERVAL_MS = 300;

    private final String bootstrap;
    private final Map<String, KafkaConsumer<byte[], byte[]>> consumers = new HashMap<>();

    Members(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    void join(JsonNode request) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("group.id", request.get("group").asText());
        properties.put("enable.auto.commit", false);
        properties.put("auto.offset.reset", "earliest");
        if (request.get("new_protocol").asBoolean()) {
            properties.put("group.protocol", "consumer");
        } else {
            properties.put("partition.assignment.strategy", assignor(request.get("strategy").asText()).getName());
            properties.put("session.timeout.ms", SESSION_TIMEOUT_MS);
            properties.put("heartbeat.interval.ms", HEARTBEAT_INTERVAL_MS);
        }
        if (!request.get("instance_id").isNull()) {
            properties.put("group.instance.id", request.get("instance_id").asText());
        }
        KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        consumer.subscribe(List.of(request.get("topic").asText()));
        consumers.put(request.get("member").asText(), consumer);
    }

    private static Class<?> assignor(String strategy) {
        return switch (strategy) {
            case "cooperative-sticky" -> CooperativeStickyAssignor.class;
            case "sticky" -> StickyAssignor.class;
            default -> RangeAssignor.class;
        };
    }

    void poll(JsonNode request, ObjectNode answer) {
        KafkaConsumer<byte[], byte[]> consumer = consumer(request);
        ArrayNode records = answer.putArray("records");
        Duration timeout = Duration.ofMillis(request.get("timeout_ms").asLong());
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(timeout)) {
            CompatClient.tell(record, records.addObject());
        }
        ArrayNode assigned = answer.putArray("assigned");
        for (TopicPartition partition : consumer.assignment()) {
            assigned.add(partition.partition());
        }
    }

    void commit(JsonNode request) {
        consumer(request).commitSync();
    }

    void leave(JsonNode request) {
        consumers.remove(request.get("member").asText()).close();
    }

    KafkaConsumer<byte[], byte[]> consumer(JsonNode request) {
        return consumers.get(request.get("member").asText());
    }
}
