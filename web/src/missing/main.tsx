import { LanguageChoice, SealMark, Title } from "../ui/parts";
import { start, type Spoken } from "../ui/start";

function Missing({ speech, choose }: Spoken) {
  const { t } = speech;
  return (
    <main class="narrow">
      <section class="card">
        <SealMark icon="question" />
        <Title>{t("missingTitle")}</Title>
        <p>{t("missingText")}</p>
      </section>
      <footer class="pagefoot"><span /><LanguageChoice speech={speech} onChoose={choose} /></footer>
    </main>
  );
}

void start(Missing);
