package models

// AuthMethod is the way in which a signer authenticates, in addition to holding the link.
type AuthMethod string

// The methods.
const (
	AuthEmailOTP AuthMethod = "email_otp"
	AuthSMSOTP   AuthMethod = "sms_otp"
	AuthNone     AuthMethod = "none"
)

// authRules are the rules of a method.
type authRules struct {
	method    AuthMethod
	needsCode bool // the signer must verify a one-time code
	byPhone   bool // the code goes to the signer's phone, which is required
}

// authMethods lists the methods, in the order in which messages name them.
var authMethods = []authRules{
	{method: AuthEmailOTP, needsCode: true},
	{method: AuthSMSOTP, needsCode: true, byPhone: true},
	{method: AuthNone},
}

// AuthMethodNames lists the methods for messages: "email_otp, sms_otp or none".
var AuthMethodNames = alternatives(mapSlice(authMethods, func(r authRules) AuthMethod { return r.method }))

// rules returns the rules of a method. An unknown method requires a code.
func (m AuthMethod) rules() authRules {
	for _, r := range authMethods {
		if r.method == m {
			return r
		}
	}
	return authRules{needsCode: true}
}

// Valid reports whether the method exists.
func (m AuthMethod) Valid() bool { return m != "" && m.rules().method == m }

// ByPhone reports whether the code goes to the signer's phone.
func (m AuthMethod) ByPhone() bool { return m.rules().byPhone }
