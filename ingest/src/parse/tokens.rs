//! A digest of any call's tokens, with literals replaced by their type.
//!
//! Calls nest, so hashing each one by itself would be quadratic. The nodes of a file are visited once, entering and
//! leaving, into a polynomial prefix hash; the digest of a call is the difference between two places of it.

use oxc_ast::AstKind;
use oxc_semantic::AstNodes;
use oxc_syntax::node::NodeId;

/// 2^61 - 1.
const PRIME: u128 = (1 << 61) - 1;
const BASE: u128 = 0x0005_DEEC_E66D_1CE5;

/// Prefix hashes over the events of a walk.
pub(crate) struct Prefix {
    prefix: Vec<u64>,
    powers: Vec<u64>,
}

/// Prefix hashes over the nodes of one file.
pub(super) struct Tokens {
    events: Prefix,
    /// Per node: the events on entering and on leaving.
    bounds: Vec<(u32, u32)>,
}

impl Tokens {
    /// Visits all nodes once.
    pub(super) fn new(nodes: &AstNodes<'_>) -> Self {
        let mut tokens = Self { events: Prefix::default(), bounds: vec![(0, 0); nodes.len()] };
        let mut open: Vec<NodeId> = Vec::new();
        for (id, node) in nodes.iter_enumerated() {
            let parent = nodes.parent_id(id);
            while let Some(&last) = open.last() {
                if last == parent {
                    break;
                }
                open.pop();
                tokens.leave(last);
            }
            tokens.bounds[id.index()].0 = tokens.events.at();
            tokens.events.push(token_of(node.kind()));
            open.push(id);
        }
        while let Some(last) = open.pop() {
            tokens.leave(last);
        }
        tokens
    }

    /// Digest of one node.
    pub(super) fn of(&self, id: NodeId) -> u64 {
        let (from, to) = self.bounds.get(id.index()).copied().unwrap_or((0, 0));
        self.events.between(from, to)
    }

    fn leave(&mut self, id: NodeId) {
        self.events.push(1);
        self.bounds[id.index()].1 = self.events.at();
    }
}

impl Default for Prefix {
    fn default() -> Self {
        Self { prefix: vec![0], powers: vec![1] }
    }
}

impl Prefix {
    /// Digest of what happened between two places.
    pub(crate) fn between(&self, from: u32, to: u32) -> u64 {
        let (Some(&before), Some(&after), Some(&power)) = (
            self.prefix.get(from as usize),
            self.prefix.get(to as usize),
            self.powers.get(to.saturating_sub(from) as usize),
        ) else {
            return 0;
        };
        let moved = u128::from(before) * u128::from(power) % PRIME;
        narrow((u128::from(after) + PRIME - moved) % PRIME)
    }

    /// Where the walk is.
    pub(crate) fn at(&self) -> u32 {
        u32::try_from(self.prefix.len() - 1).unwrap_or(u32::MAX)
    }

    /// One event; 1 is the leaving of a node.
    pub(crate) fn push(&mut self, token: u64) {
        let last = self.prefix.last().copied().unwrap_or(0);
        self.prefix.push(narrow((u128::from(last) * BASE + u128::from(token)) % PRIME));
        let power = self.powers.last().copied().unwrap_or(1);
        self.powers.push(narrow(u128::from(power) * BASE % PRIME));
    }
}

fn narrow(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

fn token_of(kind: AstKind<'_>) -> u64 {
    let name: &str = match kind {
        AstKind::IdentifierName(it) => &it.name,
        AstKind::IdentifierReference(it) => &it.name,
        AstKind::BindingIdentifier(it) => &it.name,
        AstKind::LabelIdentifier(it) => &it.name,
        AstKind::PrivateIdentifier(it) => &it.name,
        AstKind::BinaryExpression(it) => it.operator.as_str(),
        AstKind::LogicalExpression(it) => it.operator.as_str(),
        AstKind::UnaryExpression(it) => it.operator.as_str(),
        AstKind::AssignmentExpression(it) => it.operator.as_str(),
        AstKind::StaticMemberExpression(it) if it.optional => "?",
        AstKind::CallExpression(it) if it.optional => "?",
        _ => "",
    };
    // Kinds are numbered by the parser: another parser is another analyzer version.
    token(kind.ty() as u16, name)
}

/// The event of entering a node of a kind, with its name.
pub(crate) fn token(kind: u16, name: &str) -> u64 {
    // FNV-1a over the kind and the name.
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    for byte in kind.to_le_bytes().into_iter().chain(name.bytes()) {
        hash ^= u64::from(byte);
        hash = hash.wrapping_mul(0x0100_0000_01B3);
    }
    // 0 and 1 have meanings of their own.
    hash % ((1 << 61) - 3) + 2
}
