import { SealMark } from "../ui/parts";
import { start } from "../ui/start";

void start(() => (
  <main class="narrow">
    <section class="card">
      <SealMark icon="check" />
      <h1>Countersign</h1>
      <p>Documents are signed here. Signers come by the link in their mail, applications by the API.</p>
      <p><a class="button" href="/verify">Verify a document</a></p>
    </section>
  </main>
));
