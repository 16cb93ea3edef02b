/*
 * Countersign.open({ container, url, onReady, onViewed, onConsentAccepted, onSignatureApplied, onCompleted, onDeclined,
 *                    onHandedOver, onDelegated, onError, onResize, autoHeight })
 *
 * Embeds the signing page of one signer in an element of your page.
 *   container   the element to contain the frame, or a CSS selector for it
 *   url         the embedUrl of a session created by your server
 *   on…         called with {event, envelopeId, signerId, …}; onResize also receives height, onCompleted and onDelegated
 *               receive returnUrl
 *   autoHeight  lets the frame grow with its content; documents scroll inside the frame, so that the controls below
 *               them remain visible
 * Returns { frame, close() }. The messages are intended only for your page. Rely on webhooks for the actual result.
 */
/*
 * Countersign.build({ url, element, on })
 *
 * Embeds the builder for a draft in an element of your page.
 *   url      the embedUrl of a builder session created by your server
 *   element  the element to contain the frame, or a CSS selector for it
 *   on       called with {event, envelopeId, …} for each message: ready, changed (fields, complete), saved, sent, closed,
 *            error (code), resize (height)
 * Returns { frame, close() }.
 */
(function () {
  "use strict";
  var names = ["ready", "viewed", "consentAccepted", "signatureApplied", "completed", "declined", "handedOver", "delegated", "error", "resize"];

  function show(url, into, title, hear) {
    var container = typeof into === "string" ? document.querySelector(into) : into;
    if (!container) throw new Error("Countersign: there is no such container");
    var origin = new URL(url, location.href).origin;
    var frame = document.createElement("iframe");
    frame.title = title;
    frame.referrerPolicy = "origin";
    frame.style.cssText = "border:0;width:100%;height:100%;min-height:560px;display:block";
    frame.src = url;

    function listen(message) {
      if (message.source === frame.contentWindow && message.origin === origin && message.data) hear(frame, message.data);
    }

    addEventListener("message", listen);
    container.appendChild(frame);
    return {
      frame: frame,
      close: function () {
        removeEventListener("message", listen);
        frame.remove();
      }
    };
  }

  function open(options) {
    return show(options.url, options.container, options.title || "Sign", function (frame, data) {
      var name = String(data.event || "").replace(/^service\.signer\./, "");
      if (names.indexOf(name) < 0) return;
      if (name === "resize" && options.autoHeight) frame.style.height = data.height + "px";
      // The documents are first displayed from the top. Scroll to the top of the frame if it is out of view.
      if (name === "consentAccepted" && frame.getBoundingClientRect().top < 0) frame.scrollIntoView({ block: "start" });
      var callback = options["on" + name.charAt(0).toUpperCase() + name.slice(1)];
      if (callback) callback(data);
    });
  }

  function build(options) {
    return show(options.url, options.element, options.title || "Prepare documents", function (frame, data) {
      if (String(data.event || "").indexOf("service.builder.") === 0 && options.on) options.on(data);
    });
  }

  window.Countersign = { open: open, build: build };
})();
