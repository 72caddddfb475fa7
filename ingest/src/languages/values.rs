//! Second pass: expressions, now that every name is known.

use tree_sitter::Node;

use super::each;
use super::reader::{Declaration, Declared, Reader, ScopeId, UNKNOWN, index};
use super::rules::{Kind, Role};
use crate::parse::{
    Argument, BindingId, CallFact, Expr, ExprId, Origin, Property, TextPart, Uses, Write, digest, kept_text,
};

/// Expressions in expressions, followed this far.
pub(super) const DEEPEST: u32 = 64;
/// Pieces of one text.
const MOST_PIECES: usize = 64;

impl<'t> Reader<'t> {
    /// Reads every expression of a file.
    pub(super) fn expressions(&mut self, root: Node<'t>) {
        self.settle();
        let mut open: Vec<(usize, ScopeId)> = vec![(0, 0)];
        each(root, |node, depth| {
            while open.len() > 1 && open.last().is_some_and(|(at, _)| *at >= depth) {
                open.pop();
            }
            if node.is_error() {
                return false;
            }
            if let Some(inner) = self.scope_at.get(&node.id()) {
                open.push((depth, *inner));
            }
            let scope = open.last().map_or(0, |(_, scope)| *scope);
            let Some(rule) = self.described.get(&node.id()) else { return true };
            match rule.kind {
                Kind::Call => {
                    self.lower(node, scope, 0);
                }
                Kind::Return => {
                    if let (Some(value), Some(function)) = (rule.get(Role::Value), self.scopes[scope].function) {
                        let value = self.lower(value, scope, 0);
                        self.out.functions[function as usize].returns.push(value);
                    }
                }
                Kind::Assign | Kind::Update => {
                    if let (Some(pattern), value) = (rule.get(Role::Pattern), rule.get(Role::Value)) {
                        self.member_writes(pattern, value, scope);
                    }
                }
                Kind::Special => {
                    let visit = self.grammar.visit;
                    visit(self, node, scope);
                }
                Kind::Import => return false,
                _ => {}
            }
            true
        });
        self.fill_namespaces();
    }

    /// `self.name = value`.
    fn member_writes(&mut self, pattern: Node<'t>, value: Option<Node<'t>>, scope: ScopeId) {
        for (target, value) in self.pairs(pattern, value) {
            let Some(rule) = self.rule(target).filter(|rule| rule.kind == Kind::Member) else { continue };
            let (Some(object), Some(property)) = (rule.get(Role::Object), rule.get(Role::Property)) else { continue };
            if !self.is_name(object) {
                continue;
            }
            let binding = self.lookup(scope, self.text(object), index(object.start_byte()));
            let Some(class) = binding.and_then(|binding| self.object_class(binding)) else { continue };
            let value = value.map_or(UNKNOWN, |value| self.lower(value, scope, 0));
            let name = self.name(self.text(property));
            self.out.classes[class as usize].assigned.push((name, value));
        }
    }

    /// The class of which a name is the object.
    fn object_class(&self, binding: BindingId) -> Option<u32> {
        match self.out.bindings[binding as usize].origin {
            Origin::Value(value, ref steps) if steps.is_empty() => match self.out.expr(value) {
                Expr::This(class) => *class,
                _ => None,
            },
            _ => None,
        }
    }

    /// Gives every name its origin.
    fn settle(&mut self) {
        for (slot, node, scope) in std::mem::take(&mut self.types) {
            self.settle_type(slot, node, scope);
        }
        for binding in 0..self.declarations.len() {
            let declarations = self.declarations[binding].clone();
            self.settle_binding(binding, &declarations);
        }
        for (slot, node, scope) in std::mem::take(&mut self.values) {
            self.settle_value(slot, node, scope);
        }
    }

    fn settle_binding(&mut self, binding: usize, declarations: &[Declaration<'t>]) {
        let defines =
            |what: &Declared<'_>| matches!(what, Declared::Function(_) | Declared::Class(_) | Declared::Import { .. });
        let mut kept: Vec<&Declaration<'t>> = Vec::new();
        for declaration in declarations {
            if defines(&declaration.what) {
                // A definition that is not deeper replaces those before it.
                kept.retain(|known| known.depth < declaration.depth);
            }
            kept.push(declaration);
        }
        let has_definition = kept.iter().any(|it| defines(&it.what));
        let mut origin = None;
        let mut writes = Vec::new();
        for declaration in kept {
            let value = match &declaration.what {
                // What `name: Type` says is kept as its type.
                Declared::Made(UNKNOWN) if declarations.len() > 1 => continue,
                what => self.origin(what),
            };
            if has_definition && !defines(&declaration.what) {
                if matches!(&value, Origin::Value(value, steps) if steps.is_empty() && *self.out.expr(*value) == Expr::Null)
                {
                    continue;
                }
                // What is defined or imported and then becomes something else is neither.
                origin = Some(Origin::Unknown);
                writes.clear();
                break;
            }
            if origin.is_none() {
                origin = Some(value);
            } else {
                let value = self.written(value);
                writes.push(Write { value, appends: false, certain: false, fallback: false });
            }
        }
        // What becomes another text by something that is not followed is no text that is known.
        let texts = |value: ExprId| match self.out.expr(value) {
            Expr::Text(..) | Expr::Template(_) | Expr::Literal(Some(_)) => (1, 0),
            Expr::Null => (0, 0),
            _ => (0, 1),
        };
        if let (Some(Origin::Value(first, steps)), false) = (&origin, writes.is_empty()) {
            let counts = writes.iter().map(|write| texts(write.value)).chain([texts(*first)]);
            let (known, other) = counts.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
            if steps.is_empty() && known > 0 && other > 0 {
                origin = None;
                writes.clear();
            }
        }
        let it = &mut self.out.bindings[binding];
        if matches!(it.origin, Origin::Unknown) {
            it.origin = origin.unwrap_or(Origin::Unknown);
        }
        if !writes.is_empty() {
            it.writes = writes;
        }
    }

    fn origin(&mut self, what: &Declared<'t>) -> Origin {
        match what {
            Declared::Unknown => Origin::Unknown,
            Declared::Value(node, scope, steps) => Origin::Value(self.lower(*node, *scope, 0), steps.clone()),
            Declared::Made(value) => Origin::Value(*value, Vec::new()),
            Declared::Parameter(function, at) => Origin::Parameter(*function, *at, Vec::new()),
            Declared::Function(function) => Origin::Function(*function),
            Declared::Class(class) => Origin::Class(*class),
            Declared::Import { specifier, name } => Origin::Import { specifier: *specifier, name: *name },
        }
    }

    /// An origin as an expression, for names that have several.
    fn written(&mut self, origin: Origin) -> ExprId {
        let expr = match origin {
            Origin::Value(value, steps) if steps.is_empty() => return value,
            Origin::Function(function) => Expr::Function(function),
            Origin::Class(class) => Expr::Class(class),
            Origin::Import { specifier, name } => {
                let module = self.add(Expr::Import(specifier));
                if self.out.name(name) == "*" {
                    return module;
                }
                Expr::Member(module, name)
            }
            _ => return UNKNOWN,
        };
        self.add(expr)
    }

    fn fill_namespaces(&mut self) {
        for (value, scope) in std::mem::take(&mut self.namespaces) {
            let mut properties = Vec::new();
            for (text, binding) in self.names_of(scope) {
                let member = self.add(Expr::Binding(binding));
                properties.push(Property::Named(self.name(text), member));
            }
            self.out.exprs[value as usize] = Expr::Object(properties);
        }
    }

    /// The expression of a node in a scope.
    pub(super) fn lower(&mut self, node: Node<'t>, scope: ScopeId, depth: u32) -> ExprId {
        if depth > DEEPEST || node.is_error() {
            return UNKNOWN;
        }
        let scope = self.scope_at.get(&node.id()).copied().unwrap_or(scope);
        if self.is_name(node) {
            return self.named(scope, self.text(node), index(node.start_byte()));
        }
        let Some(rule) = self.described.get(&node.id()) else { return UNKNOWN };
        let kind = rule.kind;
        let [value, left, right] = [Role::Value, Role::Left, Role::Right].map(|role| rule.get(role));
        match kind {
            Kind::Call | Kind::Construct => self.call(node, scope, depth),
            Kind::Member => self.member(node, scope, depth),
            Kind::Index => {
                let object = rule.get(Role::Object);
                let object = object.map_or(UNKNOWN, |object| self.lower(object, scope, depth + 1));
                self.add(Expr::Index(object))
            }
            Kind::Text | Kind::Special => {
                let read = self.grammar.read;
                read(self, node, scope, depth)
            }
            Kind::Join => self.join(node, scope, depth),
            Kind::Either => {
                let left = left.map_or(UNKNOWN, |left| self.lower(left, scope, depth + 1));
                let right = right.map_or(UNKNOWN, |right| self.lower(right, scope, depth + 1));
                self.add(Expr::Either(left, right))
            }
            Kind::Guarded => {
                let value = value.map_or(UNKNOWN, |value| self.lower(value, scope, depth + 1));
                self.add(Expr::Guarded(value))
            }
            Kind::Await => {
                let value = value.map_or(UNKNOWN, |value| self.lower(value, scope, depth + 1));
                self.add(Expr::Await(value))
            }
            Kind::Cast => {
                let ty = rule.get(Role::Type);
                let value = value.map_or(UNKNOWN, |value| self.lower(value, scope, depth + 1));
                match ty.and_then(|ty| self.ty(ty, scope, depth)) {
                    Some(ty) => self.add(Expr::Cast(value, ty)),
                    None => value,
                }
            }
            Kind::List if rule.setting("single").is_some() && node.named_child_count() == 1 => {
                node.named_child(0).map_or(UNKNOWN, |only| self.lower(only, scope, depth + 1))
            }
            Kind::Same => value.map_or(UNKNOWN, |value| self.lower(value, scope, depth + 1)),
            Kind::Object => self.object(node, scope, depth),
            Kind::List => self.list(node, scope, depth),
            Kind::Null => self.add(Expr::Null),
            Kind::Closure => match self.function_at.get(&node.id()).copied() {
                Some(function) => self.add(Expr::Function(function)),
                None => UNKNOWN,
            },
            _ => UNKNOWN,
        }
    }

    /// A text of which a digest, and at most a URL or its like, is kept.
    pub(super) fn kept(&mut self, text: &str) -> ExprId {
        let digest = digest(text);
        match kept_text(text) {
            Some(kept) => {
                let name = self.name(kept);
                self.add(Expr::Text(name, digest))
            }
            None => self.add(Expr::Literal(Some(digest))),
        }
    }

    /// A piece of a text.
    pub(super) fn piece(&mut self, text: &str) -> TextPart {
        match kept_text(text) {
            Some(kept) => TextPart::Text(self.name(kept)),
            None => TextPart::Withheld,
        }
    }

    /// A text put together from pieces.
    pub(super) fn pieces(&mut self, parts: Vec<TextPart>) -> ExprId {
        if parts.len() > MOST_PIECES { UNKNOWN } else { self.add(Expr::Template(parts)) }
    }

    /// `a + b + c`, which the parser nests to the left.
    fn join(&mut self, node: Node<'t>, scope: ScopeId, depth: u32) -> ExprId {
        let mut parts = Vec::new();
        let mut at = node;
        loop {
            let rule = self.rule(at).filter(|rule| rule.kind == Kind::Join);
            let Some((left, right)) = rule.and_then(|rule| Some((rule.get(Role::Left)?, rule.get(Role::Right)?)))
            else {
                break;
            };
            if parts.len() > MOST_PIECES {
                return UNKNOWN;
            }
            parts.push(right);
            at = left;
        }
        parts.push(at);
        let values: Vec<_> = parts.into_iter().rev().map(|part| self.lower(part, scope, depth + 1)).collect();
        self.pieces(values.into_iter().map(TextPart::Value).collect())
    }

    fn member(&mut self, node: Node<'t>, scope: ScopeId, depth: u32) -> ExprId {
        if let Some(path) = self.grammar.path
            && let Some(value) = path(self, node, scope)
        {
            return value;
        }
        let Some(rule) = self.rule(node) else { return UNKNOWN };
        let (Some(object), Some(property)) = (rule.get(Role::Object), rule.get(Role::Property)) else {
            return UNKNOWN;
        };
        let object = self.lower(object, scope, depth + 1);
        let text = self.text(property);
        if let Some(module) = self.module_member(object, text) {
            return module;
        }
        let name = self.name(text);
        self.add(Expr::Member(object, name))
    }

    /// `a.b` where the file imports the module `a.b` by that name.
    fn module_member(&mut self, object: ExprId, text: &str) -> Option<ExprId> {
        let separator = self.grammar.separator?;
        let specifier = match *self.out.expr(object) {
            Expr::Import(specifier) => specifier,
            Expr::Binding(binding) => match *self.declarations.get(binding as usize)?.as_slice() {
                [Declaration { what: Declared::Import { specifier, name }, .. }] if self.out.name(name) == "*" => {
                    specifier
                }
                _ => return None,
            },
            _ => return None,
        };
        let whole = format!("{}{separator}{text}", self.out.name(specifier));
        let names = &self.out.names;
        let import =
            self.out.imports.iter().find(|import| names.get(import.specifier as usize) == Some(whole.as_str()))?;
        let specifier = import.specifier;
        Some(self.add(Expr::Import(specifier)))
    }

    fn object(&mut self, node: Node<'t>, scope: ScopeId, depth: u32) -> ExprId {
        let mut properties = Vec::new();
        let mut cursor = node.walk();
        let children: Vec<_> = node.named_children(&mut cursor).filter(|child| !child.is_extra()).collect();
        for child in children {
            let Some(rule) = self.rule(child) else {
                properties.push(Property::Computed);
                continue;
            };
            let (kind, key, value) = (rule.kind, rule.get(Role::Key), rule.get(Role::Value));
            let value = value.map_or(UNKNOWN, |value| self.lower(value, scope, depth + 1));
            properties.push(match (kind, key.and_then(|key| self.key(key))) {
                (Kind::Spread, _) => Property::Spread(value),
                (Kind::Pair, Some(key)) => Property::Named(self.name(&key), value),
                _ => Property::Computed,
            });
        }
        self.add(Expr::Object(properties))
    }

    /// The text of a key that is a literal.
    fn key(&mut self, key: Node<'t>) -> Option<String> {
        if self.rule(key).is_some_and(|rule| rule.kind == Kind::Text) {
            let literal = self.grammar.literal;
            return literal(self, key).filter(|text| text.len() <= 100 && !text.is_empty());
        }
        None
    }

    fn list(&mut self, node: Node<'t>, scope: ScopeId, depth: u32) -> ExprId {
        let mut items = Vec::new();
        let mut cursor = node.walk();
        let children: Vec<_> = node.named_children(&mut cursor).filter(|child| !child.is_extra()).collect();
        for child in children {
            items.push(self.argument(child, scope, depth));
        }
        self.add(Expr::Array(items))
    }

    fn argument(&mut self, node: Node<'t>, scope: ScopeId, depth: u32) -> Argument {
        match self.rule(node).filter(|rule| rule.kind == Kind::Spread).map(|rule| rule.get(Role::Value)) {
            Some(value) => {
                let value = value.map_or(UNKNOWN, |value| self.lower(value, scope, depth + 1));
                Argument { value, spread: true }
            }
            None => Argument { value: self.lower(node, scope, depth + 1), spread: false },
        }
    }

    fn call(&mut self, node: Node<'t>, scope: ScopeId, depth: u32) -> ExprId {
        if let Some(known) = self.lowered.get(&node.id()) {
            return *known;
        }
        let Some(rule) = self.rule(node) else { return UNKNOWN };
        let is_construct = rule.kind == Kind::Construct;
        let (Some(function), list) = (rule.get(Role::Callee), rule.get(Role::Arguments)) else { return UNKNOWN };
        let callee = self.lower(function, scope, depth + 1);
        let mut arguments = Vec::new();
        let mut keywords = Vec::new();
        if let Some(list) = list {
            let listed = self.grammar.argument_lists.contains(&list.kind());
            let mut cursor = list.walk();
            let children: Vec<_> = if listed {
                list.named_children(&mut cursor).filter(|child| !child.is_extra()).collect()
            } else {
                vec![list]
            };
            for child in children {
                let rule = self.rule(child);
                let kind = rule.map(|rule| rule.kind);
                let part = |role| rule.and_then(|rule| rule.get(role));
                let (key, value) = (part(Role::Key), part(Role::Value));
                match kind {
                    Some(Kind::Keyword) => {
                        let key = key.map_or("", |key| self.text(key));
                        let value = value.map_or(UNKNOWN, |value| self.lower(value, scope, depth + 1));
                        let key = self.name(key);
                        keywords.push(Property::Named(key, value));
                    }
                    Some(Kind::Spread) if child.kind().starts_with("dictionary") => {
                        let value = value.map_or(UNKNOWN, |value| self.lower(value, scope, depth + 1));
                        keywords.push(Property::Spread(value));
                    }
                    _ => arguments.push(self.argument(child, scope, depth)),
                }
            }
        }
        let keywords = if keywords.is_empty() { None } else { Some(self.add(Expr::Object(keywords))) };
        // Its own parts may have been met through it.
        if let Some(known) = self.lowered.get(&node.id()) {
            return *known;
        }
        let special = self.grammar.special_call;
        let special = special(self, node, scope, callee, &arguments, keywords);
        if is_construct {
            let made = Expr::Call { call: u32::MAX, callee, arguments, construct: true };
            let made = special.unwrap_or_else(|| self.add(made));
            self.lowered.insert(node.id(), made);
            return made;
        }
        let call = index(self.out.calls.len());
        let expr = self.add(Expr::Call { call, callee, arguments, construct: false });
        let member = self.rule(function).filter(|rule| rule.kind == Kind::Member);
        let named = member.and_then(|rule| rule.get(Role::Property)).unwrap_or(function);
        let (line, column) = self.positions.line_column(index(node.start_byte()));
        let (callee_line, callee_column) = self.positions.line_column(index(named.start_byte()));
        let (symbol, function) = (self.scopes[scope].symbol, self.scopes[scope].function);
        self.out.calls.push(CallFact {
            expr,
            line,
            column,
            end_line: self.end_line(node),
            callee_line,
            callee_column,
            symbol,
            function,
            keywords,
            hash: self.bounds.get(&node.id()).map_or(0, |(from, to)| self.tokens.between(*from, *to)),
            // How results are used is not followed.
            uses: Uses { escapes: true, ..Uses::default() },
        });
        let value = special.unwrap_or(expr);
        self.lowered.insert(node.id(), value);
        value
    }
}
