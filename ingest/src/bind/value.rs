//! What is known of a value while it flows through a repository.

use std::rc::Rc;

use super::passes::{Passes, Place};
use crate::catalog::{HttpId, ShapeId};
use crate::parse::{ClassId, ExprId, FunctionId, SymbolIndex, TypeId};

/// Position of a file in the project.
pub(super) type FileId = u32;

/// A value, as far as it can lead to a vendor or to a symbol of the repository.
#[derive(Debug, Clone)]
pub(super) enum Value {
    /// Not known.
    Unknown,
    /// `null` or `undefined`.
    Null,
    /// A name that no file declares: `fetch`, `globalThis`.
    Global(Rc<str>),
    /// The namespace of a vendor's module, or what `require` of it gives.
    Namespace(Rc<str>),
    /// A value out of a vendor's package.
    Vendor(Rc<Vendor>),
    /// A library that makes plain requests, a client of it, or a member of that.
    Http(Rc<Http>),
    /// The namespace of a file.
    Module(FileId),
    /// A function.
    Function(FileId, FunctionId),
    /// A class.
    Class(FileId, ClassId),
    /// An instance of a class.
    Instance(FileId, ClassId),
    /// An object literal.
    Object(FileId, ExprId),
    /// A list literal.
    List(FileId, ExprId),
    /// A value of which the declared type is known.
    Typed(FileId, TypeId),
    /// A function of which only the type is known.
    Signature(FileId, TypeId),
    /// A module whose functions only pass on what they are given.
    Toolbox(Rc<str>),
    /// A function that only passes on what it is given.
    Passes(Passes),
    /// A list or an object of which one place is known.
    Held(Place, Rc<Value>),
    /// A collection of which every element is the same.
    Each(Collection, Rc<Value>),
    /// A function of which is known what it gives, and what it gives to a function that it is given.
    Method(Rc<Method>),
    /// What a framework builds on: whatever is called on it gives it again, and functions that those calls are given get
    /// this first.
    Builder(Rc<Value>),
    /// A function that gives the member which its first argument names.
    Getter(Rc<Value>),
    /// Something that is made in the repository, and so is no vendor's, where a vendor's is another possibility.
    Own,
    /// One of several.
    Many(Rc<Vec<Value>>),
}

/// A kind of collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Collection {
    /// Walked element by element.
    List,
    /// Walked by pairs of a key and an element.
    Map,
}

/// A function that is known by what it does with the elements of what it is a member of.
#[derive(Debug, Clone)]
pub(super) struct Method {
    pub(super) gives: Value,
    /// The first argument of a function that is passed to it.
    pub(super) takes: Value,
}

/// A value out of a vendor's package: a class, a client, or a chain of members on a client.
#[derive(Debug, Clone)]
pub(super) struct Vendor {
    /// The module that it was imported from.
    pub(super) specifier: Rc<str>,
    /// What it is.
    pub(super) shape: ShapeId,
    /// Members and calls since the client, with the client's prefix; empty for the shape itself.
    pub(super) chain: String,
    /// Position among the clients found so far.
    pub(super) client: Option<usize>,
    /// Where it was constructed or called with arguments that matter (a command's).
    pub(super) made: Option<(FileId, ExprId)>,
    /// The way here.
    pub(super) trail: Option<Rc<Trail>>,
}

/// A client of a library that makes plain requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Http {
    pub(super) library: HttpId,
    /// The member that was taken of it: `get` of `axios.get`.
    pub(super) member: Option<Rc<str>>,
    /// The options that it was made with, the outermost first.
    pub(super) made_with: Vec<(FileId, ExprId)>,
    /// What its URLs continue, where it was given by itself.
    pub(super) base: Option<(FileId, ExprId)>,
}

/// A step of the way that a value took, and the steps before it.
#[derive(Debug, Clone)]
pub(super) struct Trail {
    pub(super) file: FileId,
    pub(super) line: u32,
    pub(super) symbol: Option<SymbolIndex>,
    pub(super) step: String,
    pub(super) before: Option<Rc<Trail>>,
    /// How many steps there were before.
    pub(super) length: usize,
}

impl Vendor {
    /// What a module exports, before anything is done with it.
    pub(super) fn exported(specifier: &str, shape: ShapeId) -> Self {
        Self { specifier: specifier.into(), shape, chain: String::new(), client: None, made: None, trail: None }
    }

    /// The same value one step further.
    pub(super) fn step(&self, file: FileId, line: u32, symbol: Option<SymbolIndex>, step: String) -> Self {
        let before = self.trail.clone();
        let length = before.as_ref().map_or(0, |before| before.length + 1);
        if length > LONGEST_TRAIL {
            return self.clone();
        }
        Self { trail: Some(Rc::new(Trail { file, line, symbol, step, before, length })), ..self.clone() }
    }

    fn same(&self, other: &Self) -> bool {
        self.specifier == other.specifier
            && self.shape == other.shape
            && self.chain == other.chain
            && self.client == other.client
            && self.made == other.made
    }
}

impl Value {
    pub(super) fn vendor(vendor: Vendor) -> Self {
        Self::Vendor(Rc::new(vendor))
    }

    pub(super) fn is_known(&self) -> bool {
        !matches!(self, Self::Unknown | Self::Null)
    }

    /// Whether it is something of the repository that can be called as a vendor's client is.
    pub(super) fn is_own(&self) -> bool {
        matches!(self, Self::Own | Self::Function(..) | Self::Instance(..) | Self::Class(..))
    }

    /// Each alternative.
    pub(super) fn alternatives(&self) -> &[Self] {
        match self {
            Self::Many(values) => values,
            one => std::slice::from_ref(one),
        }
    }

    /// Each alternative out of a vendor's package.
    pub(super) fn vendors(&self) -> impl Iterator<Item = &Rc<Vendor>> {
        self.alternatives().iter().filter_map(|value| match value {
            Self::Vendor(vendor) => Some(vendor),
            _ => None,
        })
    }

    /// One or the other; what is not known gives way to what is.
    pub(super) fn or(self, other: Self) -> Self {
        match (&self, &other) {
            (Self::Unknown | Self::Null, _) => return if other.is_known() { other } else { self },
            (_, Self::Unknown | Self::Null) => return self,
            _ => {}
        }
        let mut all = self.alternatives().to_vec();
        for value in other.alternatives() {
            if all.len() < MOST_ALTERNATIVES && !all.iter().any(|known| known.same(value)) {
                all.push(value.clone());
            }
        }
        if all.len() == 1 { all.remove(0) } else { Self::Many(Rc::new(all)) }
    }

    fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Vendor(a), Self::Vendor(b)) => a.same(b),
            (Self::Global(a), Self::Global(b)) | (Self::Namespace(a), Self::Namespace(b)) => a == b,
            (Self::Module(a), Self::Module(b)) => a == b,
            (Self::Own, Self::Own) => true,
            (Self::Builder(a), Self::Builder(b)) | (Self::Getter(a), Self::Getter(b)) => a.same(b),
            (Self::Each(a, x), Self::Each(b, y)) => a == b && x.same(y),
            (Self::Method(a), Self::Method(b)) => a.gives.same(&b.gives) && a.takes.same(&b.takes),
            (Self::Held(a, x), Self::Held(b, y)) => a == b && x.same(y),
            (Self::Http(a), Self::Http(b)) => a == b,
            (Self::Function(a, x), Self::Function(b, y))
            | (Self::Class(a, x), Self::Class(b, y))
            | (Self::Instance(a, x), Self::Instance(b, y))
            | (Self::Object(a, x), Self::Object(b, y))
            | (Self::List(a, x), Self::List(b, y))
            | (Self::Signature(a, x), Self::Signature(b, y))
            | (Self::Typed(a, x), Self::Typed(b, y)) => (a, x) == (b, y),
            _ => false,
        }
    }
}

/// Steps that are remembered of one way; nobody reads more, and dropping a chain of them takes stack.
const LONGEST_TRAIL: usize = 32;
/// Alternatives of one value that are followed.
pub(super) const MOST_ALTERNATIVES: usize = 32;
