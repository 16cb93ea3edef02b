package templates

import "golang.org/x/text/language"

var en = phrases{
	Tag:    language.English,
	Months: [12]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"},
	Time:   "{day} {month} {year}, {time}", Date: "{day} {month} {year}", And: " ",
	Hello: "Hello {name},", HelloNobody: "Hello,",
	SentBy: "Sent on behalf of {sender}.", SentByService: "Sent with Countersign.",
	OpenLink: "Or open this link:", Download: "Download", Attached: "Attached to this mail", Reason: "Reason",
	MessageFrom: "Message from {sender}", Message: "Message", ADocument: "a document", YourDocument: "your document",
	Documents: pluralForms{One: "{n} document", Other: "{n} documents"}, More: pluralForms{One: "and {n} more document", Other: "and {n} more documents"},
	DaysLeft: pluralForms{One: "{n} day left to download: {document}", Other: "{n} days left to download: {document}"},
	Minutes:  pluralForms{One: "{n} minute", Other: "{n} minutes"},

	InviteHeading: "Your signature is requested", InviteSubject: "{sender} asks you to sign", InviteNobody: "You are asked to sign a document",
	Asks: "{sender} asks you to review and sign {document}.", AsksNobody: "You are asked to review and sign {document}.",
	SignButton: "Review and sign", SignBy: "Please sign by {time}. The link stops working then.",
	YoursAlone: "The link is yours alone: please do not forward this mail. If you did not expect it, you can ignore it; nothing is signed unless you sign.",

	ReminderSubject: "Reminder: {document}", ReminderHeading: "Your signature is still needed", ReminderOf: "A reminder: {sentence}",

	CodeHeading: "Your signing code", CodeSubject: "Your code for {document}", CodePreheader: "Enter {code} on the signing page. It is valid for {duration}.",
	CodeIntro: "Enter this code on the signing page to go on:", CodeIntroFor: "Enter this code on the signing page to go on with {document}:",
	CodeValid: "It is valid for {duration} and works once.",
	CodeNote:  "Tell nobody this code: we never ask for it by phone or mail. If you did not request it, you can ignore this mail.",

	CompletedSubject: "Completed: {document}", CompletedHeading: "Everyone has signed",
	CompletedText: "{document} was signed by everyone and sealed on {time}.",
	CopyAttached:  "Your signed copy is attached.", CopyLinked: "Your signed copy is ready to download.", CopyMixed: "Your signed copy is attached, the larger files as links.",
	CheckNote: "Each file carries a digital seal that shows any later change. Check a file at any time:",

	DeclinedSubject: "Declined: {document}", DeclinedHeading: "Signing was declined",
	DeclinedBy: "{name} declined to sign {document} on {time}.", Declined: "The signing of {document} was declined on {time}.",
	VoidedSubject: "Cancelled: {document}", VoidedHeading: "Signing was cancelled",
	VoidedBy: "{name} cancelled the signing of {document} on {time}.", Voided: "The signing of {document} was cancelled on {time}.",
	ExpiredSubject: "Expired: {document}", ExpiredHeading: "The deadline has passed", Expired: "The deadline to sign {document} passed on {time}.",
	NothingToSign: "Nothing more needs to be signed.", LinksEnded: "Nothing more needs to be signed, and the links sent for it no longer work.",

	DeletionToday: "Last day to download: {document}", DeletionHeading: "Keep your signed copy", DeletionPreheader: "It will be deleted on {date}.",
	DeletionText: "Your signed copy of {document} will be deleted on {date}. Download it to keep it.",
	DeletionNote: "Once you have downloaded it, we stop reminding you.",

	OpenConsole:    "Open the console",
	BouncedSubject: "Not delivered: {document}", BouncedHeading: "An invitation could not be delivered",
	Bounced:      "The invitation of {name} ({address}) to sign {document} was refused for good.",
	BouncedNote:  "Check the address with the person. Nobody is asked to sign at this address any more.",
	StuckSubject: "Sealing is stuck: {document}", StuckHeading: "A document cannot be sealed",
	Stuck:       "Everyone has signed {document}, but it could not be sealed since {time}.",
	StuckNote:   "It is tried again by itself, and no signature is lost. Who runs the service can see why.",
	HookHeading: "A webhook endpoint was switched off", HookPreheader: "It failed every delivery since {time}.",
	Hook:         "Every delivery to this endpoint has failed for days, so it was switched off. It gets no more events.",
	HookNote:     "Once it works again, switch it on and have the failed deliveries sent again.",
	HookEndpoint: "Endpoint", HookSince: "Failing since", HookError: "Last error", NotKnown: "not known",

	SMSLinkFor: `{sender} asks you to sign "{document}": {link}`, SMSLink: "{sender} asks you to sign: {link}", SMSLinkNobody: "Please sign: {link}",
	SMSMailFor: `{sender} asks you to sign "{document}". Please look into your mail.`, SMSMail: "{sender} asks you to sign a document. Please look into your mail.",
	SMSMailNobody: "You are asked to sign a document. Please look into your mail.",
	SMSCodeFor:    `{code} is your code to sign "{document}". Valid for {duration}. Tell nobody.`, SMSCode: "{code} is your signing code. Valid for {duration}. Tell nobody.",
}
