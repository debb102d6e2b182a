// The search without a server. A page that was opened from a file may not start a worker; there a hidden frame runs
// the worker's script, and messages go to and fro as events. Must keep its name, by which the plugin `offline` knows it.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #frame = document.createElement("iframe");
    #waiting = []; // messages that came before the script was loaded; null once it is

    constructor(url) {
      super();
      this.#frame.hidden = true;
      this.#frame.srcdoc = "<!doctype html><body></body>";
      this.#frame.addEventListener("load", () => this.#start(new URL(url, location).href), { once: true });
      document.body.append(this.#frame);
    }

    #start(url) {
      const { contentWindow, contentDocument } = this.#frame;
      contentWindow.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = contentDocument.createElement("script");
      script.src = url;
      script.addEventListener("load", () => {
        const messages = this.#waiting;
        this.#waiting = null;
        messages.forEach((data) => this.postMessage(data));
      });
      contentDocument.body.append(script);
    }

    postMessage(data) {
      if (this.#waiting) this.#waiting.push(data);
      else this.#frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() {
      this.#frame.remove();
    }
  };
}
