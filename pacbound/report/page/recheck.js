// Checks the certificates of a report again, in the browser of whoever reads it.
//
// The bytes of each certificate are in a block of type application/pacbound-certificate, in base64,
// with the id of the element that says what came out.
(() => {
  "use strict";
  const bytesOf = (block) => {
    const binary = atob(block.textContent.trim());
    return Uint8Array.from(binary, (character) => character.charCodeAt(0));
  };

  const recheck = (block) => {
    const { accepted, check, reason } = globalThis.pacboundVerifier.verify(bytesOf(block));
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
      performance.mark("rechecked");
      document.documentElement.dataset.rechecked = "done";
      return;
    }
    recheck(block);
    setTimeout(next);
  };
  performance.mark("rechecking");
  setTimeout(next);
})();
