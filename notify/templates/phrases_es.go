package templates

import "golang.org/x/text/language"

var es = phrases{
	Tag:    language.Spanish,
	Months: [12]string{"enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre"},
	Time:   "{day} de {month} de {year}, {time}", Date: "{day} de {month} de {year}", And: " ",
	Hello: "Hola, {name}:", HelloNobody: "Hola:",
	SentBy: "Enviado en nombre de {sender}.", SentByService: "Enviado con Countersign.",
	OpenLink: "O abra este enlace:", Download: "Descargar", Attached: "Adjunto a este correo", Reason: "Motivo",
	MessageFrom: "Mensaje de {sender}", Message: "Mensaje", ADocument: "un documento", YourDocument: "su documento",
	Documents: pluralForms{One: "{n} documento", Other: "{n} documentos"}, More: pluralForms{One: "y {n} documento más", Other: "y {n} documentos más"},
	DaysLeft: pluralForms{One: "Queda {n} día para descargar: {document}", Other: "Quedan {n} días para descargar: {document}"},
	Minutes:  pluralForms{One: "{n} minuto", Other: "{n} minutos"},

	InviteHeading: "Se solicita su firma", InviteSubject: "{sender} le pide que firme", InviteNobody: "Se le pide que firme un documento",
	Asks: "{sender} le pide que lea y firme {document}.", AsksNobody: "Se le pide que lea y firme {document}.",
	SignButton: "Leer y firmar", SignBy: "Firme antes del {time}. Después, el enlace dejará de funcionar.",
	YoursAlone: "El enlace es solo para usted: no reenvíe este correo. Si no lo esperaba, puede ignorarlo; nada se firma sin usted.",

	ReminderSubject: "Recordatorio: {document}", ReminderHeading: "Aún falta su firma", ReminderOf: "Un recordatorio: {sentence}",

	CodeHeading: "Su código para firmar", CodeSubject: "Su código para {document}", CodePreheader: "Introduzca {code} en la página de firma. Es válido durante {duration}.",
	CodeIntro: "Introduzca este código en la página de firma para continuar:", CodeIntroFor: "Introduzca este código en la página de firma para continuar con {document}:",
	CodeValid: "Es válido durante {duration} y solo una vez.",
	CodeNote:  "No comparta este código con nadie: nunca lo pedimos por teléfono ni por correo. Si no lo ha solicitado, puede ignorar este correo.",

	CompletedSubject: "Completado: {document}", CompletedHeading: "Todos han firmado",
	CompletedText: "Todos han firmado {document}; se selló el {time}.",
	CopyAttached:  "Su copia firmada va adjunta.", CopyLinked: "Su copia firmada está lista para descargar.", CopyMixed: "Su copia firmada va adjunta; los archivos más grandes, como enlaces.",
	CheckNote: "Cada archivo lleva un sello digital que muestra cualquier cambio posterior. Compruebe un archivo cuando quiera:",

	DeclinedSubject: "Rechazado: {document}", DeclinedHeading: "La firma fue rechazada",
	DeclinedBy: "{name} rechazó firmar {document} el {time}.", Declined: "La firma de {document} fue rechazada el {time}.",
	VoidedSubject: "Cancelado: {document}", VoidedHeading: "La firma fue cancelada",
	VoidedBy: "{name} canceló la firma de {document} el {time}.", Voided: "La firma de {document} fue cancelada el {time}.",
	ExpiredSubject: "Caducado: {document}", ExpiredHeading: "El plazo ha vencido", Expired: "El plazo para firmar {document} venció el {time}.",
	NothingToSign: "No queda nada por firmar.", LinksEnded: "No queda nada por firmar, y los enlaces enviados ya no funcionan.",

	DeletionToday: "Último día para descargar: {document}", DeletionHeading: "Conserve su copia firmada", DeletionPreheader: "Se eliminará el {date}.",
	DeletionText: "Su copia firmada de {document} se eliminará el {date}. Descárguela para conservarla.",
	DeletionNote: "Cuando la haya descargado, dejaremos de recordárselo.",

	OpenConsole:    "Abrir la consola",
	BouncedSubject: "No entregado: {document}", BouncedHeading: "No se pudo entregar una invitación",
	Bounced:      "La invitación a {name} ({address}) para firmar {document} fue rechazada definitivamente.",
	BouncedNote:  "Compruebe la dirección con la persona. A esta dirección ya no se envía ninguna invitación.",
	StuckSubject: "Sellado detenido: {document}", StuckHeading: "No se puede sellar un documento",
	Stuck:       "Todos han firmado {document}, pero no se ha podido sellar desde el {time}.",
	StuckNote:   "Se sigue intentando automáticamente y ninguna firma se pierde. Quien opera el servicio puede ver la causa.",
	HookHeading: "Se desactivó un punto de acceso de webhook", HookPreheader: "Todas las entregas han fallado desde el {time}.",
	Hook:         "Todas las entregas a este punto de acceso fallan desde hace días, por lo que se desactivó. Ya no recibe eventos.",
	HookNote:     "Cuando vuelva a funcionar, actívelo y haga reenviar las entregas fallidas.",
	HookEndpoint: "Punto de acceso", HookSince: "Falla desde", HookError: "Último error", NotKnown: "desconocido",

	SMSLinkFor: `{sender} le pide que firme "{document}": {link}`, SMSLink: "{sender} le pide que firme: {link}", SMSLinkNobody: "Firme, por favor: {link}",
	SMSMailFor: `{sender} le pide que firme "{document}". Mire su correo.`, SMSMail: "{sender} le pide que firme un documento. Mire su correo.",
	SMSMailNobody: "Se le pide que firme un documento. Mire su correo.",
	SMSCodeFor:    `{code} es su código para firmar "{document}". Válido {duration}. No lo comparta.`, SMSCode: "{code} es su código para firmar. Válido {duration}. No lo comparta.",
}
