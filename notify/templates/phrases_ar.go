package templates

import "golang.org/x/text/language"

var ar = phrases{
	Tag: language.Arabic, RTL: true,
	Months: [12]string{"يناير", "فبراير", "مارس", "أبريل", "مايو", "يونيو", "يوليو", "أغسطس", "سبتمبر", "أكتوبر", "نوفمبر", "ديسمبر"},
	Time:   "{day} {month} {year}، {time}", Date: "{day} {month} {year}", And: " ",
	Hello: "مرحبًا {name}،", HelloNobody: "مرحبًا،",
	SentBy: "أُرسلت نيابةً عن {sender}.", SentByService: "أُرسلت عبر Countersign.",
	OpenLink: "أو افتح هذا الرابط:", Download: "تنزيل", Attached: "مرفق بهذه الرسالة", Reason: "السبب",
	MessageFrom: "رسالة من {sender}", Message: "رسالة", ADocument: "مستند", YourDocument: "مستندك",
	Documents: pluralForms{One: "مستند واحد", Two: "مستندان", Few: "{n} مستندات", Many: "{n} مستندًا", Other: "{n} مستند"},
	More:      pluralForms{One: "ومستند آخر", Two: "ومستندان آخران", Few: "و{n} مستندات أخرى", Many: "و{n} مستندًا آخر", Other: "و{n} مستند آخر"},
	DaysLeft: pluralForms{
		One: "بقي يوم واحد للتنزيل: {document}", Two: "بقي يومان للتنزيل: {document}", Few: "بقيت {n} أيام للتنزيل: {document}",
		Many: "بقي {n} يومًا للتنزيل: {document}", Other: "بقي {n} يوم للتنزيل: {document}",
	},
	Minutes: pluralForms{One: "دقيقة واحدة", Two: "دقيقتين", Few: "{n} دقائق", Many: "{n} دقيقة", Other: "{n} دقيقة"},

	InviteHeading: "توقيعك مطلوب", InviteSubject: "يطلب منك {sender} التوقيع", InviteNobody: "مطلوب منك توقيع مستند",
	Asks: "يطلب منك {sender} مراجعة {document} وتوقيعه.", AsksNobody: "مطلوب منك مراجعة {document} وتوقيعه.",
	SignButton: "راجع ووقّع", SignBy: "يرجى التوقيع قبل {time}. بعد ذلك يتوقف الرابط عن العمل.",
	YoursAlone: "هذا الرابط لك وحدك: لا تُعد توجيه هذه الرسالة. إن لم تكن تتوقعها فيمكنك تجاهلها؛ لا يُوقَّع شيء ما لم توقّع أنت.",

	ReminderSubject: "تذكير: {document}", ReminderHeading: "ما زال توقيعك مطلوبًا", ReminderOf: "للتذكير: {sentence}",

	CodeHeading: "رمز التوقيع", CodeSubject: "رمزك لتوقيع {document}", CodePreheader: "أدخل {code} في صفحة التوقيع. وهو صالح لمدة {duration}.",
	CodeIntro: "أدخل هذا الرمز في صفحة التوقيع للمتابعة:", CodeIntroFor: "أدخل هذا الرمز في صفحة التوقيع لمتابعة {document}:",
	CodeValid: "وهو صالح لمدة {duration} ولمرة واحدة.",
	CodeNote:  "لا تخبر أحدًا بهذا الرمز: لا نطلبه أبدًا بالهاتف أو البريد. إن لم تطلبه فيمكنك تجاهل هذه الرسالة.",

	CompletedSubject: "اكتمل: {document}", CompletedHeading: "وقّع الجميع",
	CompletedText: "وقّع الجميع {document} وخُتم في {time}.",
	CopyAttached:  "نسختك الموقّعة مرفقة.", CopyLinked: "نسختك الموقّعة جاهزة للتنزيل.", CopyMixed: "نسختك الموقّعة مرفقة، والملفات الأكبر روابط.",
	CheckNote: "يحمل كل ملف ختمًا رقميًا يُظهر أي تغيير لاحق. تحقّق من أي ملف متى شئت:",

	DeclinedSubject: "رُفض: {document}", DeclinedHeading: "رُفض التوقيع",
	DeclinedBy: "رفض {name} توقيع {document} في {time}.", Declined: "رُفض توقيع {document} في {time}.",
	VoidedSubject: "أُلغي: {document}", VoidedHeading: "أُلغي طلب التوقيع",
	VoidedBy: "ألغى {name} توقيع {document} في {time}.", Voided: "أُلغي توقيع {document} في {time}.",
	ExpiredSubject: "انتهت المهلة: {document}", ExpiredHeading: "انتهت المهلة", Expired: "انتهت مهلة توقيع {document} في {time}.",
	NothingToSign: "لم يعد هناك ما يُوقَّع.", LinksEnded: "لم يعد هناك ما يُوقَّع، ولم تعد الروابط المرسلة تعمل.",

	DeletionToday: "آخر يوم للتنزيل: {document}", DeletionHeading: "احفظ نسختك الموقّعة", DeletionPreheader: "ستُحذف في {date}.",
	DeletionText: "ستُحذف نسختك الموقّعة من {document} في {date}. نزّلها لتحتفظ بها.",
	DeletionNote: "بعد أن تنزّلها لن نذكّرك مرة أخرى.",

	OpenConsole:    "افتح لوحة التحكم",
	BouncedSubject: "لم تُسلَّم: {document}", BouncedHeading: "تعذّر تسليم دعوة",
	Bounced:      "رُفضت دعوة {name} ({address}) لتوقيع {document} رفضًا نهائيًا.",
	BouncedNote:  "تحقّق من العنوان مع صاحبه. لن تُرسل دعوة أخرى إلى هذا العنوان.",
	StuckSubject: "تعطّل الختم: {document}", StuckHeading: "تعذّر ختم مستند",
	Stuck:       "وقّع الجميع {document}، لكن تعذّر ختمه منذ {time}.",
	StuckNote:   "تتكرر المحاولة تلقائيًا ولا يضيع أي توقيع. يمكن لمشغّل الخدمة معرفة السبب.",
	HookHeading: "أُوقفت نقطة استقبال webhook", HookPreheader: "فشلت كل عمليات التسليم منذ {time}.",
	Hook:         "فشلت كل عمليات التسليم إلى نقطة الاستقبال هذه منذ أيام، لذلك أُوقفت ولن تتلقى أحداثًا بعد الآن.",
	HookNote:     "عندما تعمل من جديد، شغّلها واطلب إعادة إرسال ما فشل.",
	HookEndpoint: "نقطة الاستقبال", HookSince: "تفشل منذ", HookError: "آخر خطأ", NotKnown: "غير معروف",

	SMSLinkFor: "يطلب منك {sender} توقيع «{document}»: {link}", SMSLink: "يطلب منك {sender} التوقيع: {link}", SMSLinkNobody: "يرجى التوقيع: {link}",
	SMSMailFor: "يطلب منك {sender} توقيع «{document}». راجع بريدك.", SMSMail: "يطلب منك {sender} توقيع مستند. راجع بريدك.",
	SMSMailNobody: "مطلوب منك توقيع مستند. راجع بريدك.",
	SMSCodeFor:    "{code} هو رمزك لتوقيع «{document}». صالح لمدة {duration}. لا تخبر به أحدًا.", SMSCode: "{code} هو رمز التوقيع. صالح لمدة {duration}. لا تخبر به أحدًا.",
}
