import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs tools of Apache Kafka one after the other: a JVM and the classes of clients are there for all of them.
 *
 * A line in is a main class, its standard input and its arguments; a line out is the exit code, its standard output
 * and its standard error. All but the code are base64, with tabs in between. The classes of the tools are loaded
 * anew for every run, because some count in static fields.
 */
final class ToolServer {
    /** What Exit.exit throws, so that a tool gets no further. */
    private static final class Ended extends Error {
        Ended() {
            super(null, null, false, false);
        }
    }

    /** An output that ends up at whichever tool runs, also by streams that an earlier one has kept. */
    private static final class Current extends OutputStream {
        private ByteArrayOutputStream printed = new ByteArrayOutputStream();
        private boolean isOver;

        @Override
        public synchronized void write(int one) {
            if (!isOver) {
                printed.write(one);
            }
        }

        @Override
        public synchronized void write(byte[] bytes, int start, int length) {
            if (!isOver) {
                printed.write(bytes, start, length);
            }
        }

        /** What is printed while a tool that has ended is unwound would not be printed by a JVM that ends. */
        synchronized void setOver(boolean isOver) {
            this.isOver = isOver;
        }

        synchronized byte[] taken() {
            byte[] all = printed.toByteArray();
            printed = new ByteArrayOutputStream();
            return all;
        }
    }

    /** Loads classes of tools by itself, and leaves all others to the loader of this class. */
    private static final class Tools extends URLClassLoader {
        Tools() {
            super(classPath(), ToolServer.class.getClassLoader());
        }

        private static URL[] classPath() {
            return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .map(ToolServer::urlOf).toArray(URL[]::new);
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith("org.apache.kafka.tools.") && !name.startsWith("kafka.")) {
                return super.loadClass(name, resolve);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> found = findLoadedClass(name);
                return found == null ? findClass(name) : found;
            }
        }
    }

    private final List<Runnable> hooks = new ArrayList<>();
    private final Current output = new Current();
    private final Current errors = new Current();
    private int code;
    private boolean isEnded;

    public static void main(String[] none) throws IOException {
        PrintStream answers = System.out;
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        ToolServer server = new ToolServer();
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            List<byte[]> words = Arrays.stream(line.split("\t", -1))
                .map(Base64.getDecoder()::decode).collect(Collectors.toList());
            int code = server.run(words);
            Base64.Encoder encoder = Base64.getEncoder();
            answers.println(code + "\t" + encoder.encodeToString(server.output.taken())
                + "\t" + encoder.encodeToString(server.errors.taken()));
            answers.flush();
        }
        System.exit(0); // whatever threads a tool has left
    }

    private ToolServer() {
        System.setOut(new PrintStream(output, true, Charset.defaultCharset()));
        System.setErr(new PrintStream(errors, true, Charset.defaultCharset()));
        Exit.setExitProcedure((status, message) -> {
            end(status, message);
            throw new Ended();
        });
        Exit.setHaltProcedure((status, message) -> {
            end(status, message);
            throw new Ended();
        });
        Exit.setShutdownHookAdder((name, hook) -> hooks.add(hook));
    }

    private int run(List<byte[]> words) {
        hooks.clear();
        code = 0;
        isEnded = false;
        System.setIn(new ByteArrayInputStream(words.get(1)));
        String[] arguments = words.subList(2, words.size()).stream().map(ToolServer::text).toArray(String[]::new);
        try (Tools tools = new Tools()) {
            Thread.currentThread().setContextClassLoader(tools);
            tools.loadClass(text(words.get(0))).getMethod("main", String[].class).invoke(null, (Object) arguments);
        } catch (InvocationTargetException thrown) {
            fail(thrown.getCause());
        } catch (ReflectiveOperationException | IOException problem) {
            fail(problem);
        }
        output.setOver(false);
        errors.setOver(false);
        hooks.forEach(Runnable::run);
        return code;
    }

    private void fail(Throwable thrown) {
        if (!(thrown instanceof Ended)) {
            System.err.print("Exception in thread \"main\" ");
            thrown.printStackTrace();
            end(1, null);
        }
    }

    /** The first end counts: a tool that catches everything also catches its own. */
    private void end(int status, String message) {
        if (!isEnded) {
            isEnded = true;
            code = status;
            if (message != null) {
                System.err.println(message);
            }
            output.setOver(true);
            errors.setOver(true);
        }
    }

    private static String text(byte[] word) {
        return new String(word, StandardCharsets.UTF_8);
    }

    private static URL urlOf(String path) {
        try {
            return new File(path).toURI().toURL();
        } catch (MalformedURLException impossible) {
            throw new IllegalArgumentException(path, impossible);
        }
    }
}
