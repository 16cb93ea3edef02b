import { SealMark } from "../ui/parts";
import { start } from "../ui/start";

void start(() => (
  <main class="narrow">
    <section class="card">
      <SealMark icon="question" />
      <h1>There is no such page</h1>
      <p>Please check the address, or open the link in your mail again.</p>
    </section>
  </main>
));
