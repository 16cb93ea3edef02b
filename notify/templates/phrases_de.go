package templates

import "golang.org/x/text/language"

var de = phrases{
	Tag:    language.German,
	Months: [12]string{"Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember"},
	Time:   "{day}. {month} {year}, {time}", Date: "{day}. {month} {year}", And: " ",
	Hello: "Guten Tag {name},", HelloNobody: "Guten Tag,",
	SentBy: "Gesendet im Auftrag von {sender}.", SentByService: "Gesendet mit Countersign.",
	OpenLink: "Oder öffnen Sie diesen Link:", Download: "Herunterladen", Attached: "Liegt dieser Mail bei", Reason: "Grund",
	MessageFrom: "Nachricht von {sender}", Message: "Nachricht", ADocument: "ein Dokument", YourDocument: "Ihr Dokument",
	Documents: pluralForms{One: "{n} Dokument", Other: "{n} Dokumente"}, More: pluralForms{One: "und {n} weiteres Dokument", Other: "und {n} weitere Dokumente"},
	DaysLeft: pluralForms{One: "Noch {n} Tag zum Herunterladen: {document}", Other: "Noch {n} Tage zum Herunterladen: {document}"},
	Minutes:  pluralForms{One: "{n} Minute", Other: "{n} Minuten"},

	InviteHeading: "Ihre Unterschrift wird erbeten", InviteSubject: "{sender} bittet Sie um Ihre Unterschrift", InviteNobody: "Sie werden um Ihre Unterschrift gebeten",
	Asks: "{sender} bittet Sie, {document} zu lesen und zu unterschreiben.", AsksNobody: "Sie werden gebeten, {document} zu lesen und zu unterschreiben.",
	SignButton: "Lesen und unterschreiben", SignBy: "Bitte unterschreiben Sie bis {time}. Danach gilt der Link nicht mehr.",
	YoursAlone: "Der Link ist nur für Sie: Bitte leiten Sie diese Mail nicht weiter. Wenn Sie sie nicht erwartet haben, können Sie sie ignorieren; ohne Ihre Unterschrift geschieht nichts.",

	ReminderSubject: "Erinnerung: {document}", ReminderHeading: "Ihre Unterschrift fehlt noch", ReminderOf: "Zur Erinnerung: {sentence}",

	CodeHeading: "Ihr Code zum Unterschreiben", CodeSubject: "Ihr Code für {document}", CodePreheader: "Geben Sie {code} auf der Unterschriftsseite ein. Der Code gilt {duration}.",
	CodeIntro: "Geben Sie diesen Code auf der Unterschriftsseite ein, um fortzufahren:", CodeIntroFor: "Geben Sie diesen Code auf der Unterschriftsseite ein, um mit {document} fortzufahren:",
	CodeValid: "Er gilt {duration} und nur einmal.",
	CodeNote:  "Verraten Sie den Code niemandem: Wir fragen nie per Telefon oder Mail danach. Wenn Sie ihn nicht angefordert haben, können Sie diese Mail ignorieren.",

	CompletedSubject: "Abgeschlossen: {document}", CompletedHeading: "Alle haben unterschrieben",
	CompletedText: "{document} wurde von allen unterschrieben und am {time} versiegelt.",
	CopyAttached:  "Ihr unterschriebenes Exemplar liegt bei.", CopyLinked: "Ihr unterschriebenes Exemplar steht zum Herunterladen bereit.", CopyMixed: "Ihr unterschriebenes Exemplar liegt bei, die größeren Dateien als Links.",
	CheckNote: "Jede Datei trägt ein digitales Siegel, das jede spätere Änderung zeigt. Prüfen Sie eine Datei jederzeit:",

	DeclinedSubject: "Abgelehnt: {document}", DeclinedHeading: "Die Unterschrift wurde abgelehnt",
	DeclinedBy: "{name} hat es am {time} abgelehnt, {document} zu unterschreiben.", Declined: "Die Unterschrift unter {document} wurde am {time} abgelehnt.",
	VoidedSubject: "Zurückgezogen: {document}", VoidedHeading: "Der Vorgang wurde zurückgezogen",
	VoidedBy: "{name} hat {document} am {time} zurückgezogen.", Voided: "{document} wurde am {time} zurückgezogen.",
	ExpiredSubject: "Abgelaufen: {document}", ExpiredHeading: "Die Frist ist abgelaufen", Expired: "Die Frist, {document} zu unterschreiben, ist am {time} abgelaufen.",
	NothingToSign: "Es ist nichts mehr zu unterschreiben.", LinksEnded: "Es ist nichts mehr zu unterschreiben, und die versandten Links gelten nicht mehr.",

	DeletionToday: "Letzter Tag zum Herunterladen: {document}", DeletionHeading: "Sichern Sie Ihr unterschriebenes Exemplar", DeletionPreheader: "Es wird am {date} gelöscht.",
	DeletionText: "Ihr unterschriebenes Exemplar von {document} wird am {date} gelöscht. Laden Sie es herunter, um es zu behalten.",
	DeletionNote: "Sobald Sie es heruntergeladen haben, erinnern wir Sie nicht mehr.",

	OpenConsole:    "Konsole öffnen",
	BouncedSubject: "Nicht zugestellt: {document}", BouncedHeading: "Eine Einladung konnte nicht zugestellt werden",
	Bounced:      "Die Einladung an {name} ({address}), {document} zu unterschreiben, wurde endgültig abgewiesen.",
	BouncedNote:  "Bitte prüfen Sie die Adresse mit der Person. An diese Adresse geht keine Einladung mehr.",
	StuckSubject: "Versiegeln stockt: {document}", StuckHeading: "Ein Dokument kann nicht versiegelt werden",
	Stuck:       "Alle haben {document} unterschrieben, doch es konnte seit {time} nicht versiegelt werden.",
	StuckNote:   "Es wird von selbst weiter versucht, und keine Unterschrift geht verloren. Wer den Dienst betreibt, kann sehen, woran es liegt.",
	HookHeading: "Ein Webhook-Endpunkt wurde abgeschaltet", HookPreheader: "Seit {time} ist jede Zustellung gescheitert.",
	Hook:         "Seit Tagen ist jede Zustellung an diesen Endpunkt gescheitert, darum wurde er abgeschaltet. Er erhält keine Ereignisse mehr.",
	HookNote:     "Sobald er wieder arbeitet, schalten Sie ihn ein und lassen Sie die gescheiterten Zustellungen erneut senden.",
	HookEndpoint: "Endpunkt", HookSince: "Gescheitert seit", HookError: "Letzter Fehler", NotKnown: "nicht bekannt",

	SMSLinkFor: `{sender} bittet Sie, "{document}" zu unterschreiben: {link}`, SMSLink: "{sender} bittet um Ihre Unterschrift: {link}", SMSLinkNobody: "Bitte unterschreiben: {link}",
	SMSMailFor: `{sender} bittet Sie, "{document}" zu unterschreiben. Bitte sehen Sie in Ihre Mails.`, SMSMail: "{sender} bittet um Ihre Unterschrift. Bitte sehen Sie in Ihre Mails.",
	SMSMailNobody: "Sie werden um Ihre Unterschrift gebeten. Bitte sehen Sie in Ihre Mails.",
	SMSCodeFor:    `{code} ist Ihr Code für "{document}". Gültig: {duration}. Niemandem verraten.`, SMSCode: "{code} ist Ihr Code zum Unterschreiben. Gültig: {duration}. Niemandem verraten.",
}
