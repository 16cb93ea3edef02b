import { LanguageChoice, StatusIcon, Title } from "../ui/parts";
import { start, type LocalizedProps } from "../ui/start";

function Missing({ speech, choose }: LocalizedProps) {
  const { t } = speech;
  return (
    <main class="narrow">
      <section class="card">
        <StatusIcon icon="question" />
        <Title>{t("missingTitle")}</Title>
        <p>{t("missingText")}</p>
      </section>
      <footer class="pagefoot"><span /><LanguageChoice speech={speech} onChoose={choose} /></footer>
    </main>
  );
}

void start(Missing);
