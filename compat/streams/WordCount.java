import java.time.Duration;
import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Produced;

/** Counts words exactly once, until SIGTERM; word_count.py beside it explains the arguments. */
public final class WordCount {
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

    private WordCount() {}

    public static void main(String[] arguments) {
        String bootstrap = arguments[0];
        String application = arguments[1];
        String lines = arguments[2];
        String counts = arguments[3];
        String state = arguments[4];
        long pauseMs = Long.parseLong(arguments[5]);
        KafkaStreams streams = new KafkaStreams(
                counting(lines, counts, pauseMs).build(), settings(bootstrap, application, state));
        // Failures must be visible.
        streams.setUncaughtExceptionHandler(failure -> {
            failure.printStackTrace();
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(CLOSE_TIMEOUT)));
        streams.start();
    }

    private static StreamsBuilder counting(String lines, String counts, long pauseMs) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(lines, Consumed.with(Serdes.String(), Serdes.String()))
                .flatMapValues(line -> Arrays.asList(line.split(" ")))
                .groupBy((key, word) -> word, Grouped.with(Serdes.String(), Serdes.String()))
                .count()
                .toStream()
                .peek((word, count) -> pause(pauseMs))
                .to(counts, Produced.with(Serdes.String(), Serdes.Long()));
        return builder;
    }

    private static Properties settings(String bootstrap, String application, String state) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, application);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, state);
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        // Every count is written, not only the last one of a commit interval.
        settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
        settings.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, 1);
        // Written at once, so that a kill leaves half of a transaction at the broker.
        settings.put(StreamsConfig.producerPrefix("linger.ms"), 0);
        settings.put(StreamsConfig.mainConsumerPrefix("auto.offset.reset"), "earliest");
        // The next start waits until the broker ends the killed one's membership and transaction.
        settings.put(StreamsConfig.mainConsumerPrefix("session.timeout.ms"), 3000);
        settings.put(StreamsConfig.mainConsumerPrefix("heartbeat.interval.ms"), 500);
        settings.put(StreamsConfig.producerPrefix("transaction.timeout.ms"), 3000);
        return settings;
    }

    private static void pause(long pauseMs) {
        try {
            Thread.sleep(pauseMs);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
