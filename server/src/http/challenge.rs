//! What a client without an accepted credential is told: enough to get one (RFC 6750, RFC 9728).

use http::{StatusCode, header};
use sync_core::policy::Denied;
use sync_core::principal::Scope;

use super::problem::Problem;

const NEXT_STEP: &str = "Send `Authorization: Bearer <token>`. An owner or admin of your organization makes a token (POST /v1/tokens, or `syncd token create`); the issuers of JSON Web Tokens are in resource_metadata.";

/// What to do about a credential that is not accepted, by why.
fn remedy(code: &str) -> &'static str {
    match code {
        "bad_authorization" => "Send the header once, as `Authorization: Bearer <token>`.",
        "malformed_token" => {
            "Copy the whole token again. Where it is lost, an owner or admin of your organization makes another: POST /v1/tokens, or `syncd token create`."
        }
        "unknown_token" => {
            "Check that this is the address of the Sync that the token was made by, and that nothing of it was changed."
        }
        "token_revoked" | "token_expired" => {
            "Get another: of a Sync token, from an owner or admin of your organization (POST /v1/tokens, or `syncd token create`); of a JSON Web Token, from its issuer."
        }
        "member_disabled" => {
            "Ask an owner or admin of the organization to let the member in again: PATCH /v1/members/{principal}, or `syncd member change`."
        }
        "organization_suspended" => {
            "Ask whoever runs this service: nothing was deleted, and `syncd organization resume` serves the organization again."
        }
        "unknown_organization" => {
            "Check that the token is of the right organization, and ask whoever runs this service whether that is served."
        }
        _ => {
            "Use a Sync token, or a JSON Web Token of an issuer that the organization trusts and made for this service; resource_metadata names the issuers."
        }
    }
}

/// No credential: by RFC 6750 without an error. `scope` is all that is normally needed for what was asked, since
/// clients step up unreliably.
pub fn missing(metadata: &str, scope: Scope) -> Problem {
    let value = format!(r#"Bearer resource_metadata="{metadata}", scope="{scope}""#);
    Problem::new(StatusCode::UNAUTHORIZED, "no_credential", "This request has no credential.", NEXT_STEP)
        .with_header(header::WWW_AUTHENTICATE, value)
}

/// A credential that is not accepted, and the word for why. `description` holds nothing of it.
pub fn refused(metadata: &str, scope: Scope, code: &'static str, description: &str) -> Problem {
    let quoted = description.replace(['"', '\\'], "'");
    let value = format!(
        r#"Bearer resource_metadata="{metadata}", scope="{scope}", error="invalid_token", error_description="{quoted}""#
    );
    Problem::new(StatusCode::UNAUTHORIZED, code, description, remedy(code)).with_header(header::WWW_AUTHENTICATE, value)
}

/// A good credential that may not do this.
pub fn denied(metadata: &str, denied: Denied) -> Problem {
    let scope = denied.scope();
    let (detail, next_step) = match denied {
        Denied::Scope(_) => (
            format!("The credential lacks the scope {scope}."),
            format!(
                "Use a credential with the scope {scope}. A Sync token with it is made by an owner or admin (POST /v1/tokens, or `syncd token create --scope {scope}`); the scopes of a JSON Web Token come from its issuer."
            ),
        ),
        Denied::Role(role, _) => (
            format!("The credential has the scope {scope}, but its member's role, {role}, may not use it."),
            "Ask an owner or admin of the organization for another role, or use another member's credential."
                .to_owned(),
        ),
        Denied::Settles(role, _) => (
            format!(
                "The credential's member has the role {role}, which sends what is new and settles nothing of a source."
            ),
            "Use a credential of a member, an admin or an owner for this.".to_owned(),
        ),
    };
    let value = format!(r#"Bearer resource_metadata="{metadata}", scope="{scope}", error="insufficient_scope""#);
    Problem::new(StatusCode::FORBIDDEN, "forbidden", detail, next_step).with_header(header::WWW_AUTHENTICATE, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What to do fits why: nobody is told to send a token who sent one, or to make one who is shut out.
    #[test]
    fn the_next_step_fits_the_reason() {
        for (code, words) in [
            ("malformed_token", "Copy the whole token again"),
            ("token_expired", "Get another"),
            ("token_revoked", "Get another"),
            ("member_disabled", "let the member in again"),
            ("bad_jwt", "an issuer that the organization trusts"),
        ] {
            let problem = refused("https://s", Scope::Admin, code, "why");
            assert_eq!(problem.code, code);
            assert!(problem.next_step.contains(words), "{code}: {}", problem.next_step);
        }
        assert!(missing("https://s", Scope::Admin).next_step.starts_with("Send `Authorization: Bearer <token>`"));
    }

    #[test]
    fn a_challenge_is_one_well_formed_header() {
        let metadata = "https://s/.well-known/oauth-protected-resource/mcp";
        let problem = refused(metadata, Scope::GraphRead, "bad_jwt", r#"a "quoted" \ word"#);
        let (_, value) = problem.header.unwrap();
        assert_eq!(
            value,
            "Bearer resource_metadata=\"https://s/.well-known/oauth-protected-resource/mcp\", scope=\"graph:read\", \
             error=\"invalid_token\", error_description=\"a 'quoted' ' word\""
        );
    }
}
