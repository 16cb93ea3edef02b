package templates

import "golang.org/x/text/language"

var ja = phrases{
	Tag:    language.Japanese,
	Months: [12]string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"},
	Time:   "{year}年{month}月{day}日 {time}", Date: "{year}年{month}月{day}日", And: "",
	Hello: "{name} 様", HelloNobody: "こんにちは。",
	SentBy: "{sender} に代わって送信しています。", SentByService: "Countersign から送信しています。",
	OpenLink: "または次のリンクを開いてください：", Download: "ダウンロード", Attached: "このメールに添付", Reason: "理由",
	MessageFrom: "{sender} からのメッセージ", Message: "メッセージ", ADocument: "文書", YourDocument: "文書",
	Documents: pluralForms{Other: "{n} 件の文書"}, More: pluralForms{Other: "ほか {n} 件の文書"},
	DaysLeft: pluralForms{Other: "ダウンロード期限まであと {n} 日：{document}"},
	Minutes:  pluralForms{Other: "{n} 分間"},

	InviteHeading: "ご署名のお願い", InviteSubject: "{sender} からの署名のお願い", InviteNobody: "文書への署名のお願い",
	Asks: "{sender} が {document} の確認と署名をお願いしています。", AsksNobody: "{document} をご確認のうえ、ご署名ください。",
	SignButton: "確認して署名する", SignBy: "{time} までにご署名ください。期限を過ぎるとリンクは使えなくなります。",
	YoursAlone: "このリンクはあなた専用です。このメールを転送しないでください。お心当たりがない場合は無視してかまいません。ご自身が署名しない限り、何も署名されません。",

	ReminderSubject: "再送：{document}", ReminderHeading: "まだご署名をいただいていません", ReminderOf: "再度のご案内です。{sentence}",

	CodeHeading: "署名用の確認コード", CodeSubject: "{document} の確認コード", CodePreheader: "署名ページで {code} を入力してください。有効期限は {duration}です。",
	CodeIntro: "続けるには、署名ページで次のコードを入力してください：", CodeIntroFor: "{document} を続けるには、署名ページで次のコードを入力してください：",
	CodeValid: "有効期限は {duration}、使用できるのは一度だけです。",
	CodeNote:  "このコードを誰にも教えないでください。電話やメールでお尋ねすることはありません。お心当たりがない場合は、このメールを無視してください。",

	CompletedSubject: "署名完了：{document}", CompletedHeading: "全員の署名が完了しました",
	CompletedText: "{document} は全員が署名し、{time} に封印されました。",
	CopyAttached:  "署名済みの文書を添付しています。", CopyLinked: "署名済みの文書をダウンロードできます。", CopyMixed: "署名済みの文書を添付しています。大きいファイルはリンクからダウンロードできます。",
	CheckNote: "各ファイルには、その後の変更がわかる電子的な封印が付いています。いつでも確認できます：",

	DeclinedSubject: "署名拒否：{document}", DeclinedHeading: "署名が拒否されました",
	DeclinedBy: "{name} が {time} に {document} への署名を拒否しました。", Declined: "{document} への署名は {time} に拒否されました。",
	VoidedSubject: "取り消し：{document}", VoidedHeading: "署名依頼が取り消されました",
	VoidedBy: "{name} が {time} に {document} の署名依頼を取り消しました。", Voided: "{document} の署名依頼は {time} に取り消されました。",
	ExpiredSubject: "期限切れ：{document}", ExpiredHeading: "期限が過ぎました", Expired: "{document} の署名期限は {time} に過ぎました。",
	NothingToSign: "これ以上の署名は不要です。", LinksEnded: "これ以上の署名は不要です。お送りしたリンクは使えなくなりました。",

	DeletionToday: "本日がダウンロードの最終日です：{document}", DeletionHeading: "署名済みの文書を保存してください", DeletionPreheader: "{date} に削除されます。",
	DeletionText: "{document} の署名済みの文書は {date} に削除されます。保存するにはダウンロードしてください。",
	DeletionNote: "ダウンロードされた後は、このご案内をお送りしません。",

	OpenConsole:    "コンソールを開く",
	BouncedSubject: "配信できません：{document}", BouncedHeading: "招待メールを配信できませんでした",
	Bounced:      "{name}（{address}）への {document} の署名依頼は、配信先に拒否されました。",
	BouncedNote:  "ご本人に宛先をご確認ください。この宛先にはこれ以上招待をお送りしません。",
	StuckSubject: "封印が滞っています：{document}", StuckHeading: "文書を封印できません",
	Stuck:       "{document} には全員が署名しましたが、{time} から封印できていません。",
	StuckNote:   "自動的に再試行しており、署名は失われません。原因はサービスの運用者が確認できます。",
	HookHeading: "Webhook のエンドポイントを停止しました", HookPreheader: "{time} からすべての配信に失敗しています。",
	Hook:         "このエンドポイントへの配信が数日間すべて失敗したため、停止しました。以後のイベントは配信されません。",
	HookNote:     "復旧したら再開し、失敗した配信を再送してください。",
	HookEndpoint: "エンドポイント", HookSince: "失敗の開始", HookError: "最後のエラー", NotKnown: "不明",

	SMSLinkFor: "{sender} から「{document}」への署名のお願い：{link}", SMSLink: "{sender} からの署名のお願い：{link}", SMSLinkNobody: "ご署名ください：{link}",
	SMSMailFor: "{sender} から「{document}」への署名のお願いです。メールをご確認ください。", SMSMail: "{sender} から署名のお願いです。メールをご確認ください。",
	SMSMailNobody: "署名のお願いです。メールをご確認ください。",
	SMSCodeFor:    "{code} は「{document}」の確認コードです。有効期限 {duration}。誰にも教えないでください。", SMSCode: "{code} は署名用の確認コードです。有効期限 {duration}。誰にも教えないでください。",
}
