//! The canonical JSON (RFC 8785) of facts, made as it is written: every name stands where the order of names wants it,
//! which is several times as fast as sorting them. A test holds this to a library that sorts.

use std::collections::BTreeMap;

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

use super::{CallSite, Context, Edge, EvidenceStep, Export, FileFacts, Import, Read, Symbol, Unresolved};
use crate::operation::Operation;
use crate::rung::Rung;

/// Largest number that RFC 8785 writes as its digits.
const EXACT: u64 = 1 << 53;

/// The canonical JSON of a file's line without `facts_hash`.
pub(super) fn canonical(facts: &FileFacts) -> Result<Vec<u8>, serde_json::Error> {
    let file = File::from(facts);
    let keys = facts.call_sites.iter().flat_map(|site| site.args_literals.keys());
    if facts.bytes > EXACT || keys.into_iter().any(|key| !key.is_ascii()) {
        // Written otherwise, and keys sort by UTF-16 units.
        return serde_json_canonicalizer::to_vec(&file);
    }
    serde_json::to_vec(&file)
}

// Every field is named on both sides, so that a new one cannot be left out; the names ascend.

#[derive(Serialize)]
struct File<'a> {
    bytes: u64,
    call_sites: Each<'a, CallSite>,
    content_hash: &'a str,
    edges: Each<'a, Edge>,
    exports: Each<'a, Export>,
    imports: Each<'a, Import>,
    kind: &'static str,
    language: &'a str,
    lines: u32,
    parser: &'a str,
    path: &'a str,
    symbols: Each<'a, Symbol>,
    unresolved: Each<'a, Unresolved>,
}

impl<'a> From<&'a FileFacts> for File<'a> {
    fn from(facts: &'a FileFacts) -> Self {
        let FileFacts {
            path,
            content_hash,
            facts_hash: _,
            language,
            parser,
            bytes,
            lines,
            symbols,
            imports,
            exports,
            edges,
            unresolved,
            call_sites,
        } = facts;
        Self {
            bytes: *bytes,
            call_sites: Each(call_sites),
            content_hash,
            edges: Each(edges),
            exports: Each(exports),
            imports: Each(imports),
            kind: "file",
            language,
            lines: *lines,
            parser,
            path,
            symbols: Each(symbols),
            unresolved: Each(unresolved),
        }
    }
}

/// A list of facts.
struct Each<'a, T>(&'a [T]);

/// Facts with a canonical form.
trait Ordered {
    type Form<'a>: Serialize
    where
        Self: 'a;

    fn ordered(&self) -> Self::Form<'_>;
}

impl<T: Ordered> Serialize for Each<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for item in self.0 {
            list.serialize_element(&item.ordered())?;
        }
        list.end()
    }
}

/// A form whose names ascend: fields of the facts, each as it is or as given.
macro_rules! ordered {
    ($facts:ident as $form:ident { $( $(#[$attribute:meta])* $field:ident: $type:ty = $value:expr, )* }) => {
        #[derive(Serialize)]
        struct $form<'a> {
            $( $(#[$attribute])* $field: $type, )*
        }

        impl Ordered for $facts {
            type Form<'a> = $form<'a>;

            fn ordered(&self) -> $form<'_> {
                let Self { $( $field, )* } = self;
                $form { $( $field: ($value)($field), )* }
            }
        }
    };
}

fn text(value: &str) -> &str {
    value
}

fn texts(value: &[String]) -> &[String] {
    value
}

fn each<T>(value: &[T]) -> Each<'_, T> {
    Each(value)
}

fn same<T: Copy>(value: &T) -> T {
    *value
}

fn whole<T>(value: &T) -> &T {
    value
}

ordered!(Symbol as OrderedSymbol {
    end_line: u32 = same,
    exported: bool = same,
    kind: &'a str = text,
    line: u32 = same,
    name: &'a str = text,
    ordinal: u32 = same,
    qualified: &'a str = text,
});
ordered!(Import as OrderedImport {
    names: &'a [String] = texts,
    specifier: &'a str = text,
    target: Option<&'a str> = Option::as_deref,
});
ordered!(Export as OrderedExport {
    local: Option<&'a str> = Option::as_deref,
    name: &'a str = text,
    target: Option<&'a str> = Option::as_deref,
});
ordered!(Edge as OrderedEdge {
    from: &'a str = text,
    line: u32 = same,
    to: &'a str = text,
    via: &'a str = text,
});
ordered!(Unresolved as OrderedUnresolved {
    from: &'a str = text,
    line: u32 = same,
    name: &'a str = text,
});
ordered!(Read as OrderedRead {
    compared: bool = same,
    field: &'a str = text,
    guarded: bool = same,
});
ordered!(EvidenceStep as OrderedStep {
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32> = same,
    step: &'a str = text,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a str> = Option::as_deref,
});
ordered!(CallSite as OrderedSite {
    args_complete: bool = same,
    args_keys: &'a [String] = texts,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    args_literals: &'a BTreeMap<String, String> = whole,
    binding_source: Rung = same,
    call_hash: &'a str = text,
    call_ordinal: u32 = same,
    callee_column: u32 = same,
    callee_line: u32 = same,
    chain: &'a str = text,
    client: Option<&'a str> = Option::as_deref,
    column: u32 = same,
    context: Context = same,
    end_line: u32 = same,
    evidence: Each<'a, EvidenceStep> = each,
    line: u32 = same,
    operation: &'a Option<Operation> = whole,
    reads: Each<'a, Read> = each,
    response_complete: bool = same,
    response_fields_read: &'a [String] = texts,
    symbol: &'a str = text,
    symbol_ordinal: u32 = same,
    vendor: &'a str = text,
});

#[cfg(test)]
mod tests {
    use super::*;

    fn site(text: &str, some: bool) -> CallSite {
        let own = || text.to_owned();
        CallSite {
            line: 1,
            end_line: 2,
            column: 3,
            callee_line: 4,
            callee_column: 5,
            symbol: own(),
            symbol_ordinal: 6,
            call_ordinal: 7,
            chain: own(),
            client: some.then(own),
            vendor: own(),
            operation: some.then(|| Operation::new("POST", "/v1/charges")),
            args_keys: vec![own(), "b".to_owned()],
            args_complete: some,
            args_literals: if some { [(own(), own()), ("z".to_owned(), own())].into() } else { BTreeMap::new() },
            response_fields_read: vec![own()],
            reads: vec![Read { field: own(), guarded: some, compared: !some }],
            response_complete: !some,
            call_hash: own(),
            binding_source: Rung::Static,
            context: if some { Context::Code } else { Context::Test },
            evidence: vec![EvidenceStep { step: own(), line: some.then_some(8), target: (!some).then(own) }],
        }
    }

    fn facts(text: &str, some: bool, bytes: u64) -> FileFacts {
        let own = || text.to_owned();
        FileFacts {
            path: own(),
            content_hash: own(),
            facts_hash: "not covered".to_owned(),
            language: own(),
            parser: own(),
            bytes,
            lines: 9,
            symbols: vec![Symbol {
                name: own(),
                qualified: own(),
                ordinal: 1,
                kind: own(),
                line: 2,
                end_line: 3,
                exported: some,
            }],
            imports: vec![Import { specifier: own(), target: some.then(own), names: vec![own()] }],
            exports: vec![Export { name: own(), local: some.then(own), target: (!some).then(own) }],
            edges: vec![Edge { from: own(), to: own(), line: 4, via: own() }],
            unresolved: vec![Unresolved { name: own(), from: own(), line: 5 }],
            call_sites: vec![site(text, some), site(text, !some)],
        }
    }

    #[test]
    fn what_is_written_in_order_is_what_a_library_sorts() {
        let controls: String = (0..0x20_u8).map(char::from).collect();
        for text in ["", "plain", "\"quoted\\ \u{7f}", &controls, "\u{2028}é\u{fb33}\u{1f600}", "</script>"] {
            for (some, bytes) in [(true, 0), (false, EXACT), (true, u64::MAX)] {
                let facts = facts(text, some, bytes);
                let mut value = serde_json::to_value(&facts).unwrap();
                let fields = value.as_object_mut().unwrap();
                fields.remove("facts_hash");
                fields.insert("kind".to_owned(), "file".into());
                let sorted = serde_json_canonicalizer::to_string(&value).unwrap();
                assert_eq!(String::from_utf8(canonical(&facts).unwrap()).unwrap(), sorted);
            }
        }
    }
}
