// Checks the certificates of a report again, in the browser of whoever reads it.
//
// The bytes of each certificate are in a block of type application/pacbound-certificate, in base64,
// with the id of the element that says what came out.
(() => {
  "use strict";
  const bytesOf = (block) => {
    const binary = atob(block.textContent.trim());
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
    return bytes;
  };

  const verdictOn = (block) => {
    try {
      return globalThis.pacboundVerifier.verify(bytesOf(block));
    } catch (error) { // the page itself is damaged
      return { accepted: false, check: null, reason: String(error) };
    }
  };

  const recheck = (block) => {
    const { accepted, check, reason } = verdictOn(block);
    const mark = document.getElementById(block.dataset.mark);
    mark.classList.add(accepted ? "accepted" : "refused");
    mark.textContent = accepted
      ? "checked in this browser: accepted"
      : `checked in this browser: REJECTED, ${check === null ? "" : `check ${check}: `}${reason}`;
    if (accepted) return;
    // A closed section must not hide it.
    const heading = mark.closest("details.card")?.querySelector("summary");
    if (!heading) return;
    const badge = document.createElement("span");
    badge.className = "badge rejected";
    badge.textContent = "rejected in this browser";
    heading.append(badge);
  };

  const blocks = Array.from(
    document.querySelectorAll('script[type="application/pacbound-certificate"]'),
  );
  // One at a time, so that the page can be read meanwhile.
  const next = () => {
    const block = blocks.shift();
    if (!block) {
      document.documentElement.dataset.rechecked = "done";
      return;
    }
    recheck(block);
    setTimeout(next);
  };
  setTimeout(next);
})();
