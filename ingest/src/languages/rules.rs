//! What the query files of a language say of the nodes of a file.
//!
//! Each pattern names one node by a capture that is a [`Kind`], and parts of it by captures that are [`Role`]s; several
//! patterns may describe one node, and their roles add up. That vocabulary is all that a language and the engine share.

use std::collections::HashMap;

use tree_sitter::{Language, Node, Query, QueryCursor, StreamingIterator as _};

/// Matches that may be open at once. Ordinary code has a few hundred; nesting without end has one a level.
const MOST_OPEN_MATCHES: u32 = 4096;

macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum $name { $($(#[$doc])* $variant,)* }
        impl $name {
            fn of(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

words! {
    /// What a node is.
    Kind {
        /// A function or method, or what is only declared of one.
        Function = "function",
        /// A function without a name.
        Closure = "closure",
        /// A class, struct, interface, enum or trait.
        Class = "class",
        /// Members of a type that is declared elsewhere.
        Extension = "extension",
        /// A module within a file.
        Namespace = "namespace",
        /// A type that is another one's name.
        Alias = "alias",
        /// A scope of names.
        Scope = "scope",
        /// A function or class with decorators.
        Decorated = "decorated",
        /// A name that gets a value; with `#set! visible after`, from its end on.
        Assign = "assign",
        /// A value for a name that is declared elsewhere.
        Update = "update",
        /// A name that takes each item of a value.
        Each = "each",
        /// A parameter; with `#set! rest`, one that takes all further arguments.
        Parameter = "parameter",
        /// The parameter that is the object of a method.
        Receiver = "receiver",
        /// A field of a class.
        Field = "field",
        /// A name of a scope further out.
        Outer = "outer",
        /// An import.
        Import = "import",
        /// What a function gives back.
        Return = "return",
        /// A pattern whose children are the elements of a list.
        Elements = "elements",
        /// A call.
        Call = "call",
        /// A value of a type, written down with its fields.
        Construct = "construct",
        /// A member of a value.
        Member = "member",
        /// An element of a value.
        Index = "index",
        /// A text literal.
        Text = "text",
        /// Two texts, one behind the other.
        Join = "join",
        /// One of two values.
        Either = "either",
        /// A value, or nothing.
        Guarded = "guarded",
        /// A value that is waited for or unpacked.
        Await = "await",
        /// A value that is said to be of a type.
        Cast = "cast",
        /// Another way to write its value.
        Same = "same",
        /// Keys with values.
        Object = "object",
        /// A key with its value.
        Pair = "pair",
        /// An argument given by name.
        Keyword = "keyword",
        /// What is spread into a list, an object or arguments.
        Spread = "spread",
        /// A list literal.
        List = "list",
        /// Nothing.
        Null = "null",
        /// What the language's own code reads.
        Special = "special",
        /// One of several types.
        Union = "union",
        /// A type with arguments.
        Apply = "apply",
    }
}

words! {
    /// A part of a node.
    Role {
        /// Its name.
        Name = "name",
        /// Its parameters.
        Parameters = "parameters",
        /// Its type, or the type that a function returns.
        Type = "type",
        /// Its body.
        Body = "body",
        /// A base class.
        Base = "base",
        /// A decorator.
        Decorator = "decorator",
        /// What is decorated.
        Definition = "definition",
        /// Where a value goes.
        Pattern = "pattern",
        /// A value.
        Value = "value",
        /// What is called.
        Callee = "callee",
        /// With what.
        Arguments = "arguments",
        /// Of what a member is taken.
        Object = "object",
        /// The member.
        Property = "property",
        /// The first of two.
        Left = "left",
        /// The second of two.
        Right = "right",
        /// A key.
        Key = "key",
    }
}

/// What the patterns say of one node.
#[derive(Debug)]
pub(super) struct Rule<'t> {
    pub(super) kind: Kind,
    pattern: usize,
    roles: Vec<(Role, Node<'t>)>,
    /// `#set!` of its patterns.
    settings: Vec<(&'static str, &'static str)>,
}

impl<'t> Rule<'t> {
    /// The node in a role.
    pub(super) fn get(&self, role: Role) -> Option<Node<'t>> {
        self.roles.iter().find(|(known, _)| *known == role).map(|(_, node)| *node)
    }

    /// All nodes in a role, in source order.
    pub(super) fn all(&self, role: Role) -> impl Iterator<Item = Node<'t>> {
        self.roles.iter().filter(move |(known, _)| *known == role).map(|(_, node)| *node)
    }

    /// What a pattern sets.
    pub(super) fn setting(&self, key: &str) -> Option<&'static str> {
        self.settings.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }
}

/// The rules of a file by node.
pub(super) type Described<'t> = HashMap<usize, Rule<'t>>;

/// The compiled query files of a language.
pub(super) struct Rules {
    query: Query,
    kinds: Vec<Option<Kind>>,
    roles: Vec<Option<Role>>,
    settings: Vec<Vec<(&'static str, &'static str)>>,
}

impl Rules {
    /// Compiles query text; the error names what is wrong with it.
    pub(super) fn new(language: &Language, text: &str) -> Result<Self, String> {
        let query = Query::new(language, text).map_err(|error| error.to_string())?;
        let names = query.capture_names();
        let kinds: Vec<_> = names.iter().map(|name| Kind::of(name)).collect();
        let roles: Vec<_> = names.iter().map(|name| name.strip_prefix('_').and_then(Role::of)).collect();
        if let Some(at) = (0..names.len()).find(|at| kinds[*at].is_none() && roles[*at].is_none()) {
            return Err(format!("`@{}` is no word of rules", names[at]));
        }
        let mut settings = Vec::with_capacity(query.pattern_count());
        for pattern in 0..query.pattern_count() {
            let set = query.property_settings(pattern).iter();
            // Compiled once a process, so what they say may live as long.
            let leak = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
            settings.push(set.map(|it| (leak(&it.key), leak(it.value.as_deref().unwrap_or("")))).collect());
        }
        Ok(Self { query, kinds, roles, settings })
    }

    /// Describes the nodes of a file; `None` where more is nested than is looked at.
    pub(super) fn describe<'t>(&'static self, root: Node<'t>, source: &str) -> Option<Described<'t>> {
        let mut cursor = QueryCursor::new();
        cursor.set_match_limit(MOST_OPEN_MATCHES);
        let mut described = Described::new();
        let mut matches = cursor.matches(&self.query, root, source.as_bytes());
        while let Some(found) = matches.next() {
            let subject = found
                .captures()
                .iter()
                .find_map(|capture| self.kinds[capture.index as usize].map(|kind| (kind, capture.node)));
            let Some((kind, node)) = subject else { continue };
            let roles = found
                .captures()
                .iter()
                .filter_map(|capture| self.roles[capture.index as usize].map(|role| (role, capture.node)));
            let pattern = found.pattern_index;
            let rule = described.entry(node.id()).or_insert_with(|| Rule {
                kind,
                pattern,
                roles: Vec::new(),
                settings: Vec::new(),
            });
            // Of two kinds the pattern that is written first decides.
            if rule.kind != kind {
                if rule.pattern < pattern {
                    continue;
                }
                *rule = Rule { kind, pattern, roles: Vec::new(), settings: Vec::new() };
            }
            rule.pattern = rule.pattern.min(pattern);
            rule.settings.extend_from_slice(&self.settings[pattern]);
            for part in roles {
                if !rule.roles.contains(&part) {
                    rule.roles.push(part);
                }
            }
        }
        drop(matches);
        (!cursor.did_exceed_match_limit()).then_some(described)
    }
}
