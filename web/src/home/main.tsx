import { LanguageChoice, StatusIcon, Title } from "../ui/parts";
import { start, type LocalizedProps } from "../ui/start";

function Home({ speech, choose }: LocalizedProps) {
  const { t } = speech;
  return (
    <main class="narrow">
      <section class="card">
        <StatusIcon icon="check" />
        <Title>Countersign</Title>
        <p>{t("homeText")}</p>
        <p><a class="button" href="/verify">{t("checkIt")}</a></p>
      </section>
      <footer class="pagefoot"><span /><LanguageChoice speech={speech} onChoose={choose} /></footer>
    </main>
  );
}

void start(Home);
