import { LanguageChoice, SealMark, Title } from "../ui/parts";
import { start, type Spoken } from "../ui/start";

function Home({ speech, choose }: Spoken) {
  const { t } = speech;
  return (
    <main class="narrow">
      <section class="card">
        <SealMark icon="check" />
        <Title>Countersign</Title>
        <p>{t("homeText")}</p>
        <p><a class="button" href="/verify">{t("checkIt")}</a></p>
      </section>
      <footer class="pagefoot"><span /><LanguageChoice speech={speech} onChoose={choose} /></footer>
    </main>
  );
}

void start(Home);
