//! What a client without an accepted credential is told: enough to get one (RFC 6750, RFC 9728).

use http::{StatusCode, header};
use sync_core::policy::Denied;
use sync_core::principal::Scope;

use super::problem::Problem;

const NEXT_STEP: &str = "Send `Authorization: Bearer <token>`; `syncd token create` makes a token, and resource_metadata names the issuers.";

/// No credential: by RFC 6750 without an error. `scope` is all that is normally needed for what was asked, since
/// clients step up unreliably.
pub fn missing(metadata: &str, scope: Scope) -> Problem {
    let value = format!(r#"Bearer resource_metadata="{metadata}", scope="{scope}""#);
    Problem::new(StatusCode::UNAUTHORIZED, "no_credential", "This request has no credential.", NEXT_STEP)
        .with_header(header::WWW_AUTHENTICATE, value)
}

/// A credential that is not accepted. `description` holds nothing of it.
pub fn refused(metadata: &str, scope: Scope, description: &str) -> Problem {
    let quoted = description.replace(['"', '\\'], "'");
    let value = format!(
        r#"Bearer resource_metadata="{metadata}", scope="{scope}", error="invalid_token", error_description="{quoted}""#
    );
    Problem::new(StatusCode::UNAUTHORIZED, "invalid_token", description, NEXT_STEP)
        .with_header(header::WWW_AUTHENTICATE, value)
}

/// A good credential that may not do this.
pub fn denied(metadata: &str, denied: Denied) -> Problem {
    let scope = denied.scope();
    let (detail, next_step) = match denied {
        Denied::Scope(_) => (
            format!("The credential lacks the scope {scope}."),
            format!("Use a credential with the scope {scope}: `syncd token create … --scope {scope}`."),
        ),
        Denied::Role(role, _) => (
            format!("The credential has the scope {scope}, but its member's role, {role}, may not use it."),
            "Ask an owner or admin of the organization for another role, or use another member's credential."
                .to_owned(),
        ),
    };
    let value = format!(r#"Bearer resource_metadata="{metadata}", scope="{scope}", error="insufficient_scope""#);
    Problem::new(StatusCode::FORBIDDEN, "forbidden", detail, next_step).with_header(header::WWW_AUTHENTICATE, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_one_well_formed_header() {
        let metadata = "https://s/.well-known/oauth-protected-resource/mcp";
        let problem = refused(metadata, Scope::GraphRead, r#"a "quoted" \ word"#);
        let (_, value) = problem.header.unwrap();
        assert_eq!(
            value,
            "Bearer resource_metadata=\"https://s/.well-known/oauth-protected-resource/mcp\", scope=\"graph:read\", \
             error=\"invalid_token\", error_description=\"a 'quoted' ' word\""
        );
    }
}
