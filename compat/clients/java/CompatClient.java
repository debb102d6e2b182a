import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Apache Kafka's own Java client as a program; program.py explains the lines on stdin and stdout. */
public final class CompatClient {
    private static final ObjectMapper JSON = new ObjectMapper();
    /** After this time what a program waits for has failed. */
    static final Duration WAIT_MAX = Duration.ofSeconds(Long.parseLong(System.getenv("WAIT_S_MAX")));
    private static final int MESSAGE_BYTES_MAX = 10_000_000;

    private final String bootstrap;
    private final Members members;
    private final Transactions transactions;
    // Making a consumer takes long, so one of each isolation serves all reads.
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final KafkaConsumer<byte[], byte[]> committedConsumer;

    private CompatClient(String bootstrap) {
        this.bootstrap = bootstrap;
        this.members = new Members(bootstrap);
        this.transactions = new Transactions(bootstrap, members);
        this.consumer = consumer(bootstrap, "read_uncommitted");
        this.committedConsumer = consumer(bootstrap, "read_committed");
    }

    private static KafkaConsumer<byte[], byte[]> consumer(String bootstrap, String isolation) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("enable.auto.commit", false);
        properties.put("auto.offset.reset", "none");
        properties.put("max.partition.fetch.bytes", MESSAGE_BYTES_MAX);
        properties.put("isolation.level", isolation);
        return new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    public static void main(String[] arguments) throws IOException {
        // The library's log would mix with the answers.
        PrintStream answers = System.out;
        System.setOut(System.err);
        CompatClient client = new CompatClient(arguments[0]);
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            answers.println(JSON.writeValueAsString(client.answer(JSON.readTree(line))));
            answers.flush();
        }
    }

    private ObjectNode answer(JsonNode request) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            switch (request.get("do").asText()) {
                case "write" -> write(request, answer.putArray("offsets"));
                case "read" -> read(request, answer.putArray("records"));
                case "range" -> range(partition(request), answer);
                case "time" -> time(partition(request), request.get("timestamp_ms").asLong(), answer);
                case "join" -> members.join(request);
                case "poll" -> members.poll(request, answer);
                case "commit" -> members.commit(request);
                case "leave" -> members.leave(request);
                case "start" -> transactions.start(request);
                case "begin" -> transactions.begin(request);
                case "send" -> transactions.send(request);
                case "send_offsets" -> transactions.sendOffsets(request);
                case "commit_transaction" -> transactions.commit(request);
                case "abort_transaction" -> transactions.abort(request);
                case "close" -> transactions.close(request);
                default -> throw new IllegalArgumentException(request.toString());
            }
        } catch (ExecutionException failed) {
            refuse(answer, failed.getCause());
        } catch (Exception failed) {
            refuse(answer, failed);
        }
        return answer;
    }

    private static void refuse(ObjectNode answer, Throwable failed) {
        // The consumer's own exception is outside the table of the protocol's errors.
        Errors error = failed instanceof OffsetOutOfRangeException
                ? Errors.OFFSET_OUT_OF_RANGE
                : Errors.forException(failed);
        if (error == Errors.UNKNOWN_SERVER_ERROR) {
            answer.put("failure", failed.toString());
        } else {
            answer.put("error", error.code());
        }
    }

    private void write(JsonNode request, ArrayNode offsets) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("acks", request.get("acks").asText());
        properties.put("compression.type", request.get("codec").asText());
        properties.put("enable.idempotence", request.get("idempotent").asBoolean());
        properties.put("linger.ms", 50);
        properties.put("max.request.size", MESSAGE_BYTES_MAX);
        properties.put("delivery.timeout.ms", (int) WAIT_MAX.toMillis());
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer())) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (JsonNode each : request.get("records")) {
                sent.add(producer.send(toBeSent(request.get("topic").asText(), each)));
            }
            for (Future<RecordMetadata> each : sent) {
                offsets.add(each.get().offset());
            }
        }
    }

    static ProducerRecord<byte[], byte[]> toBeSent(String topic, JsonNode told) throws IOException {
        Integer partition = told.get("partition").isNull() ? null : told.get("partition").asInt();
        Long timestampMs = told.get("timestamp_ms").isNull() ? null : told.get("timestamp_ms").asLong();
        ProducerRecord<byte[], byte[]> record =
                new ProducerRecord<>(topic, partition, timestampMs, bytes(told.get("key")), bytes(told.get("value")));
        for (JsonNode header : told.get("headers")) {
            record.headers().add(header.get(0).asText(), bytes(header.get(1)));
        }
        return record;
    }

    private static byte[] bytes(JsonNode told) throws IOException {
        return told.isNull() ? null : told.binaryValue();
    }

    private void read(JsonNode request, ArrayNode records) {
        KafkaConsumer<byte[], byte[]> reader =
                request.get("committed_only").asBoolean() ? committedConsumer : consumer;
        TopicPartition partition = partition(request);
        int count = request.get("count").asInt();
        long deadline = System.nanoTime() + WAIT_MAX.toNanos();
        reader.assign(List.of(partition));
        reader.seek(partition, request.get("offset").asLong());
        while (records.size() < count && System.nanoTime() < deadline) {
            for (ConsumerRecord<byte[], byte[]> record : reader.poll(Duration.ofMillis(100))) {
                if (records.size() < count) {
                    tell(record, records.addObject());
                }
            }
        }
        reader.unsubscribe();
    }

    static void tell(ConsumerRecord<byte[], byte[]> record, ObjectNode told) {
        told.put("key", record.key()).put("value", record.value()).put("timestamp_ms", record.timestamp());
        told.put("partition", record.partition()).put("offset", record.offset());
        ArrayNode headers = told.putArray("headers");
        for (Header header : record.headers()) {
            headers.addArray().add(header.key()).add(header.value());
        }
    }

    private void range(TopicPartition partition, ObjectNode answer) {
        answer.put("first", consumer.beginningOffsets(List.of(partition)).get(partition));
        answer.put("end", consumer.endOffsets(List.of(partition)).get(partition));
    }

    private void time(TopicPartition partition, long timestampMs, ObjectNode answer) {
        OffsetAndTimestamp found = consumer.offsetsForTimes(Map.of(partition, timestampMs)).get(partition);
        answer.put("offset", found == null ? null : found.offset());
    }

    private static TopicPartition partition(JsonNode request) {
        return new TopicPartition(request.get("topic").asText(), request.get("partition").asInt());
    }
}
