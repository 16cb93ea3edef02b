/*
 * Countersign.open({ container, url, onReady, onViewed, onConsentAccepted, onSignatureApplied, onCompleted, onDeclined, onError, onResize, autoHeight })
 *
 * Puts the signing of one signer into an element of your page.
 *   container   element, or CSS selector of one, that takes the frame
 *   url         the embedUrl of a session made by your server
 *   on…         called with {event, envelopeId, signerId, …}; onResize also has height, onCompleted returnUrl
 *   autoHeight  lets the frame grow with its content; documents scroll inside, so that what comes next stays in sight
 * Returns { frame, close() }. The messages are for your page alone; what counts is told by webhooks.
 */
(function () {
  "use strict";
  var names = ["ready", "viewed", "consentAccepted", "signatureApplied", "completed", "declined", "error", "resize"];

  function open(options) {
    var container = typeof options.container === "string" ? document.querySelector(options.container) : options.container;
    if (!container) throw new Error("Countersign: there is no such container");
    var origin = new URL(options.url, location.href).origin;
    var frame = document.createElement("iframe");
    frame.title = options.title || "Sign";
    frame.referrerPolicy = "origin";
    frame.style.cssText = "border:0;width:100%;height:100%;min-height:560px;display:block";
    frame.src = options.url;

    function hear(message) {
      if (message.source !== frame.contentWindow || message.origin !== origin || !message.data) return;
      var name = String(message.data.event || "").replace(/^service\.signer\./, "");
      if (names.indexOf(name) < 0) return;
      if (name === "resize" && options.autoHeight) frame.style.height = message.data.height + "px";
      // The documents begin at their top: a frame whose beginning was scrolled away is brought back.
      if (name === "consentAccepted" && frame.getBoundingClientRect().top < 0) frame.scrollIntoView({ block: "start" });
      var callback = options["on" + name.charAt(0).toUpperCase() + name.slice(1)];
      if (callback) callback(message.data);
    }

    addEventListener("message", hear);
    container.appendChild(frame);
    return {
      frame: frame,
      close: function () {
        removeEventListener("message", hear);
        frame.remove();
      }
    };
  }

  window.Countersign = { open: open };
})();
