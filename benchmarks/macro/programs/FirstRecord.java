import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** BOOTSTRAP TOPIC GROUP PROTOCOL: Java's consumer; prints `ready` at its start, `record` at its first record. */
public final class FirstRecord {
    public static void main(String[] arguments) {
        System.out.println("ready");
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments[0]);
        properties.put("group.id", arguments[2]);
        properties.put("group.protocol", arguments[3]);
        properties.put("auto.offset.reset", "earliest");
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties, bytes, bytes)) {
            consumer.subscribe(List.of(arguments[1]));
            while (consumer.poll(Duration.ofSeconds(1)).isEmpty()) {
                // Nothing has come yet.
            }
            System.out.println("record");
        }
    }
}
