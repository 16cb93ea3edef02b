package models

// AuthMethod is the method that authenticates a signer in addition to the link.
type AuthMethod string

// The authentication methods.
const (
	AuthEmailOTP AuthMethod = "email_otp"
	AuthSMSOTP   AuthMethod = "sms_otp"
	AuthNone     AuthMethod = "none"
)

type authRules struct {
	method    AuthMethod
	needsCode bool // the signer must enter a one-time code
	byPhone   bool // the code is sent to the signer's phone, which is required
}

// authMethods lists the authentication methods in the order used in error messages.
var authMethods = []authRules{
	{method: AuthEmailOTP, needsCode: true},
	{method: AuthSMSOTP, needsCode: true, byPhone: true},
	{method: AuthNone},
}

// AuthMethodNames lists the authentication methods for error messages: "email_otp, sms_otp or none".
var AuthMethodNames = alternatives(mapSlice(authMethods, func(r authRules) AuthMethod { return r.method }))

// rules returns the rules for a method. An unknown method requires a code.
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

// ByPhone reports whether the code is sent to the signer's phone.
func (m AuthMethod) ByPhone() bool { return m.rules().byPhone }
