//! What `walk.mjs` writes down, read.

use serde::Deserialize;

/// What calling every method of a client came to.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Recording {
    pub(super) calls: Vec<Call>,
    /// Chains that requested nothing, with the reason.
    pub(super) silent: Vec<(String, String)>,
    /// How clients were made, by prefix.
    pub(super) clients: Vec<(String, String)>,
    /// Methods that were found.
    pub(super) methods: usize,
    pub(super) end: End,
}

/// The first request of a method.
#[derive(Debug, PartialEq, Deserialize)]
pub(super) struct Call {
    pub(super) chain: String,
    pub(super) method: String,
    /// Empty where none was requested.
    pub(super) host: String,
    /// Template, with the names that the SDK's source gives its parameters.
    pub(super) path: String,
    /// Index of the argument that comes after those that the path took.
    pub(super) keys: usize,
    /// What tells requests of one path apart: GraphQL's root field, the name of AWS's operation.
    pub(super) field: Option<String>,
}

/// Whether that was all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    Complete,
    OutOfTime,
    TooMany,
    NoClient,
    NoPackage,
    /// The walker was gone before it said how it ended.
    #[default]
    Cut,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Call(Call),
    Silent { chain: String, silent: String },
    Client { client: String },
    End { end: End, methods: Option<usize>, why: Option<String> },
}

impl Recording {
    /// Reads the lines; a last one that was cut off is left out, any other that is none is an error in words.
    pub(super) fn read(text: &str) -> Result<(Self, Option<String>), String> {
        let mut recording = Self::default();
        let mut reason = None;
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            match serde_json::from_str(line) {
                Ok(Line::Call(call)) => recording.calls.push(call),
                Ok(Line::Silent { chain, silent }) => recording.silent.push((chain, silent)),
                Ok(Line::Client { client }) => recording.clients = vec![(String::new(), client)],
                Ok(Line::End { end, methods, why }) => {
                    recording.end = end;
                    recording.methods = methods.unwrap_or(0);
                    reason = why;
                }
                Err(_) if index + 1 == lines.len() && !text.ends_with('\n') => {}
                Err(error) => return Err(format!("line {} of the recording: {error}", index + 1)),
            }
        }
        // Calls are recorded as they end; the file must not depend on which was faster.
        recording.calls.sort_by(|a, b| a.chain.cmp(&b.chain));
        recording.silent.sort();
        Ok((recording, reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_in_any_order_and_a_cut_one_is_left_out() {
        let text = concat!(
            r#"{"chain":"b.get","method":"GET","host":"api.acme.com","path":"/b/{id}","keys":1}"#,
            "\n",
            r#"{"chain":"a","silent":"no request"}"#,
            "\n",
            r#"{"chain":"a.list","method":"POST","host":"api.acme.com","path":"/graphql","keys":0,"field":"things"}"#,
            "\n",
        );
        let (read, reason) = Recording::read(&format!("{text}{}\n", r#"{"end":"complete","methods":3}"#)).unwrap();
        let chains: Vec<_> = read.calls.iter().map(|call| (call.chain.as_str(), call.field.as_deref())).collect();
        assert_eq!(chains, [("a.list", Some("things")), ("b.get", None)]);
        assert_eq!((read.end, read.methods, read.silent.len(), reason), (End::Complete, 3, 1, None));
        assert_eq!(Recording::read(&format!("{text}{}", r#"{"chain":"#)).unwrap().0.end, End::Cut);
        assert!(Recording::read(&format!("{}\n{text}", r#"{"chain":"#)).unwrap_err().starts_with("line 1 of "));
        let gone = Recording::read("{\"end\":\"no_package\",\"why\":\"Cannot find package\"}\n").unwrap();
        assert_eq!((gone.0.end, gone.1.as_deref()), (End::NoPackage, Some("Cannot find package")));
    }
}
