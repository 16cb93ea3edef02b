package templates

import "golang.org/x/text/language"

var pt = phrases{
	Tag:    language.Portuguese,
	Months: [12]string{"janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro", "novembro", "dezembro"},
	Time:   "{day} de {month} de {year}, {time}", Date: "{day} de {month} de {year}", And: " ",
	Hello: "Olá, {name},", HelloNobody: "Olá,",
	SentBy: "Enviado em nome de {sender}.", SentByService: "Enviado com Countersign.",
	OpenLink: "Ou abra este link:", Download: "Baixar", Attached: "Em anexo", Reason: "Motivo",
	MessageFrom: "Mensagem de {sender}", Message: "Mensagem", ADocument: "um documento", YourDocument: "seu documento",
	Documents: pluralForms{One: "{n} documento", Other: "{n} documentos"}, More: pluralForms{One: "e mais {n} documento", Other: "e mais {n} documentos"},
	DaysLeft: pluralForms{One: "Falta {n} dia para baixar: {document}", Other: "Faltam {n} dias para baixar: {document}"},
	Minutes:  pluralForms{One: "{n} minuto", Other: "{n} minutos"},

	InviteHeading: "Sua assinatura é solicitada", InviteSubject: "{sender} pede que você assine", InviteNobody: "Pede-se que você assine um documento",
	Asks: "{sender} pede que você leia e assine {document}.", AsksNobody: "Pede-se que você leia e assine {document}.",
	SignButton: "Ler e assinar", SignBy: "Assine até {time}. Depois disso o link deixa de funcionar.",
	YoursAlone: "O link é só seu: não encaminhe este e-mail. Se você não o esperava, pode ignorá-lo; nada é assinado sem você.",

	ReminderSubject: "Lembrete: {document}", ReminderHeading: "Sua assinatura ainda é necessária", ReminderOf: "Um lembrete: {sentence}",

	CodeHeading: "Seu código de assinatura", CodeSubject: "Seu código para {document}", CodePreheader: "Digite {code} na página de assinatura. Ele vale por {duration}.",
	CodeIntro: "Digite este código na página de assinatura para continuar:", CodeIntroFor: "Digite este código na página de assinatura para continuar com {document}:",
	CodeValid: "Ele vale por {duration} e só uma vez.",
	CodeNote:  "Não informe este código a ninguém: nunca o pedimos por telefone ou e-mail. Se você não o solicitou, ignore este e-mail.",

	CompletedSubject: "Concluído: {document}", CompletedHeading: "Todos assinaram",
	CompletedText: "{document} foi assinado por todos e selado em {time}.",
	CopyAttached:  "Sua cópia assinada está em anexo.", CopyLinked: "Sua cópia assinada está pronta para baixar.", CopyMixed: "Sua cópia assinada está em anexo, os arquivos maiores como links.",
	CheckNote: "Cada arquivo traz um selo digital que mostra qualquer alteração posterior. Verifique um arquivo quando quiser:",

	DeclinedSubject: "Recusado: {document}", DeclinedHeading: "A assinatura foi recusada",
	DeclinedBy: "{name} recusou-se a assinar {document} em {time}.", Declined: "A assinatura de {document} foi recusada em {time}.",
	VoidedSubject: "Cancelado: {document}", VoidedHeading: "A assinatura foi cancelada",
	VoidedBy: "{name} cancelou a assinatura de {document} em {time}.", Voided: "A assinatura de {document} foi cancelada em {time}.",
	ExpiredSubject: "Expirado: {document}", ExpiredHeading: "O prazo terminou", Expired: "O prazo para assinar {document} terminou em {time}.",
	NothingToSign: "Não há mais nada para assinar.", LinksEnded: "Não há mais nada para assinar, e os links enviados não funcionam mais.",

	DeletionToday: "Último dia para baixar: {document}", DeletionHeading: "Guarde sua cópia assinada", DeletionPreheader: "Ela será excluída em {date}.",
	DeletionText: "Sua cópia assinada de {document} será excluída em {date}. Baixe-a para guardá-la.",
	DeletionNote: "Assim que você a baixar, deixamos de lembrá-lo.",

	OpenConsole:    "Abrir o console",
	BouncedSubject: "Não entregue: {document}", BouncedHeading: "Um convite não pôde ser entregue",
	Bounced:      "O convite de {name} ({address}) para assinar {document} foi recusado definitivamente.",
	BouncedNote:  "Verifique o endereço com a pessoa. Nenhum convite é mais enviado a este endereço.",
	StuckSubject: "Selagem parada: {document}", StuckHeading: "Um documento não pode ser selado",
	Stuck:       "Todos assinaram {document}, mas ele não pôde ser selado desde {time}.",
	StuckNote:   "Novas tentativas são feitas automaticamente e nenhuma assinatura se perde. Quem opera o serviço pode ver a causa.",
	HookHeading: "Um endpoint de webhook foi desativado", HookPreheader: "Todas as entregas falharam desde {time}.",
	Hook:         "Todas as entregas a este endpoint falham há dias, por isso ele foi desativado. Ele não recebe mais eventos.",
	HookNote:     "Quando voltar a funcionar, ative-o e mande reenviar as entregas que falharam.",
	HookEndpoint: "Endpoint", HookSince: "Falhando desde", HookError: "Último erro", NotKnown: "desconhecido",

	SMSLinkFor: `{sender} pede que você assine "{document}": {link}`, SMSLink: "{sender} pede que você assine: {link}", SMSLinkNobody: "Por favor, assine: {link}",
	SMSMailFor: `{sender} pede que você assine "{document}". Veja seu e-mail.`, SMSMail: "{sender} pede que você assine um documento. Veja seu e-mail.",
	SMSMailNobody: "Pede-se que você assine um documento. Veja seu e-mail.",
	SMSCodeFor:    `{code} é seu código para assinar "{document}". Vale por {duration}. Não o informe a ninguém.`, SMSCode: "{code} é seu código de assinatura. Vale por {duration}. Não o informe a ninguém.",
}
