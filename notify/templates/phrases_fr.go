package templates

import "golang.org/x/text/language"

var fr = phrases{
	Tag:    language.French,
	Months: [12]string{"janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre", "décembre"},
	Time:   "{day} {month} {year} à {time}", Date: "{day} {month} {year}", And: " ",
	Hello: "Bonjour {name},", HelloNobody: "Bonjour,",
	SentBy: "Envoyé au nom de {sender}.", SentByService: "Envoyé avec Countersign.",
	OpenLink: "Ou ouvrez ce lien :", Download: "Télécharger", Attached: "En pièce jointe", Reason: "Motif",
	MessageFrom: "Message de {sender}", Message: "Message", ADocument: "un document", YourDocument: "votre document",
	Documents: pluralForms{One: "{n} document", Other: "{n} documents"}, More: pluralForms{One: "et {n} autre document", Other: "et {n} autres documents"},
	DaysLeft: pluralForms{One: "Plus que {n} jour pour télécharger : {document}", Other: "Plus que {n} jours pour télécharger : {document}"},
	Minutes:  pluralForms{One: "{n} minute", Other: "{n} minutes"},

	InviteHeading: "Votre signature est demandée", InviteSubject: "{sender} vous demande de signer", InviteNobody: "Un document est à signer",
	Asks: "{sender} vous demande de lire et de signer {document}.", AsksNobody: "Il vous est demandé de lire et de signer {document}.",
	SignButton: "Lire et signer", SignBy: "Merci de signer avant le {time}. Le lien ne fonctionnera plus ensuite.",
	YoursAlone: "Ce lien est pour vous seul : ne transférez pas ce message. Si vous ne l’attendiez pas, vous pouvez l’ignorer ; rien n’est signé sans vous.",

	ReminderSubject: "Rappel : {document}", ReminderHeading: "Votre signature est toujours attendue", ReminderOf: "Pour rappel : {sentence}",

	CodeHeading: "Votre code de signature", CodeSubject: "Votre code pour {document}", CodePreheader: "Saisissez {code} sur la page de signature. Il est valable {duration}.",
	CodeIntro: "Saisissez ce code sur la page de signature pour continuer :", CodeIntroFor: "Saisissez ce code sur la page de signature pour continuer avec {document} :",
	CodeValid: "Il est valable {duration} et une seule fois.",
	CodeNote:  "Ne donnez ce code à personne : nous ne le demandons jamais par téléphone ni par e-mail. Si vous ne l’avez pas demandé, ignorez ce message.",

	CompletedSubject: "Terminé : {document}", CompletedHeading: "Tout le monde a signé",
	CompletedText: "{document} a été signé par tous et scellé le {time}.",
	CopyAttached:  "Votre exemplaire signé est en pièce jointe.", CopyLinked: "Votre exemplaire signé est prêt à être téléchargé.", CopyMixed: "Votre exemplaire signé est en pièce jointe, les fichiers plus lourds en liens.",
	CheckNote: "Chaque fichier porte un sceau numérique qui révèle toute modification ultérieure. Vérifiez un fichier à tout moment :",

	DeclinedSubject: "Refusé : {document}", DeclinedHeading: "La signature a été refusée",
	DeclinedBy: "{name} a refusé de signer {document} le {time}.", Declined: "La signature de {document} a été refusée le {time}.",
	VoidedSubject: "Annulé : {document}", VoidedHeading: "La demande de signature a été annulée",
	VoidedBy: "{name} a annulé la signature de {document} le {time}.", Voided: "La signature de {document} a été annulée le {time}.",
	ExpiredSubject: "Expiré : {document}", ExpiredHeading: "Le délai est passé", Expired: "Le délai pour signer {document} a expiré le {time}.",
	NothingToSign: "Il n’y a plus rien à signer.", LinksEnded: "Il n’y a plus rien à signer, et les liens envoyés ne fonctionnent plus.",

	DeletionToday: "Dernier jour pour télécharger : {document}", DeletionHeading: "Conservez votre exemplaire signé", DeletionPreheader: "Il sera supprimé le {date}.",
	DeletionText: "Votre exemplaire signé de {document} sera supprimé le {date}. Téléchargez-le pour le conserver.",
	DeletionNote: "Une fois que vous l’aurez téléchargé, nous ne vous le rappellerons plus.",

	OpenConsole:    "Ouvrir la console",
	BouncedSubject: "Non distribué : {document}", BouncedHeading: "Une invitation n’a pas pu être distribuée",
	Bounced:      "L’invitation de {name} ({address}) à signer {document} a été refusée définitivement.",
	BouncedNote:  "Vérifiez l’adresse avec la personne. Plus aucune invitation n’est envoyée à cette adresse.",
	StuckSubject: "Scellement bloqué : {document}", StuckHeading: "Un document ne peut pas être scellé",
	Stuck:       "Tout le monde a signé {document}, mais il n’a pas pu être scellé depuis le {time}.",
	StuckNote:   "De nouvelles tentatives ont lieu d’elles-mêmes et aucune signature n’est perdue. L’exploitant du service peut en voir la cause.",
	HookHeading: "Un point d’accès webhook a été désactivé", HookPreheader: "Tous les envois ont échoué depuis le {time}.",
	Hook:         "Tous les envois vers ce point d’accès échouent depuis des jours ; il a donc été désactivé et ne reçoit plus d’événements.",
	HookNote:     "Quand il fonctionnera de nouveau, réactivez-le et faites renvoyer les envois échoués.",
	HookEndpoint: "Point d’accès", HookSince: "En échec depuis", HookError: "Dernière erreur", NotKnown: "inconnue",

	SMSLinkFor: `{sender} vous demande de signer "{document}" : {link}`, SMSLink: "{sender} vous demande de signer : {link}", SMSLinkNobody: "À signer : {link}",
	SMSMailFor: `{sender} vous demande de signer "{document}". Consultez vos e-mails.`, SMSMail: "{sender} vous demande de signer un document. Consultez vos e-mails.",
	SMSMailNobody: "Un document est à signer. Consultez vos e-mails.",
	SMSCodeFor:    `{code} est votre code pour signer "{document}". Valable {duration}. Ne le donnez à personne.`, SMSCode: "{code} est votre code de signature. Valable {duration}. Ne le donnez à personne.",
}
