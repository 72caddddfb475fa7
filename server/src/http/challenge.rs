//! What a client without an accepted credential is told: enough to get one (RFC 6750, RFC 9728).

use http::{StatusCode, header};
use sync_core::principal::Scope;

use super::problem::Problem;

/// Scopes of one challenge: all that is normally needed, since clients step up unreliably.
const SCOPE: Scope = Scope::GraphRead;

const NEXT_STEP: &str = "Send `Authorization: Bearer <token>`; `syncd token create` makes a token, and resource_metadata names the issuers.";

/// No credential: by RFC 6750 without an error.
pub fn missing(metadata: &str) -> Problem {
    let value = format!(r#"Bearer resource_metadata="{metadata}", scope="{SCOPE}""#);
    Problem::new(StatusCode::UNAUTHORIZED, "no_credential", "This request has no credential.", NEXT_STEP)
        .with_header(header::WWW_AUTHENTICATE, value)
}

/// A credential that is not accepted. `description` holds nothing of it.
pub fn refused(metadata: &str, description: &str) -> Problem {
    let quoted = description.replace(['"', '\\'], "'");
    let value = format!(
        r#"Bearer resource_metadata="{metadata}", scope="{SCOPE}", error="invalid_token", error_description="{quoted}""#
    );
    Problem::new(StatusCode::UNAUTHORIZED, "invalid_token", description, NEXT_STEP)
        .with_header(header::WWW_AUTHENTICATE, value)
}

/// A good credential without the scope.
pub fn insufficient_scope(metadata: &str) -> Problem {
    let value = format!(r#"Bearer resource_metadata="{metadata}", scope="{SCOPE}", error="insufficient_scope""#);
    Problem::new(
        StatusCode::FORBIDDEN,
        "forbidden",
        format!("The credential lacks the scope {SCOPE}."),
        format!("Use a credential with the scope {SCOPE}: `syncd token create … --scope {SCOPE}`."),
    )
    .with_header(header::WWW_AUTHENTICATE, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_one_well_formed_header() {
        let problem = refused("https://s/.well-known/oauth-protected-resource/mcp", r#"a "quoted" \ word"#);
        let (_, value) = problem.header.unwrap();
        assert_eq!(
            value,
            "Bearer resource_metadata=\"https://s/.well-known/oauth-protected-resource/mcp\", scope=\"graph:read\", \
             error=\"invalid_token\", error_description=\"a 'quoted' ' word\""
        );
    }
}
