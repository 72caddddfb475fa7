//! First pass, continued: every name with how it gets its value, fields, and parameters.

use tree_sitter::Node;

use super::each;
use super::reader::{Declaration, Declared, Reader, ScopeId, ScopeKind, TypeSlot, UNKNOWN, ValueSlot, index};
use super::rules::{Kind, Role};
use crate::parse::{ClassId, FunctionId, Member, MemberKind, Parameter, Step};

/// Patterns in patterns, followed this far.
const DEEPEST: usize = 32;

impl<'t> Reader<'t> {
    /// A name that gets a value.
    pub(super) fn assign(&mut self, node: Node<'t>, scope: ScopeId, depth: usize) {
        let Some(rule) = self.rule(node) else { return };
        let (value, ty) = (rule.get(Role::Value), rule.get(Role::Type));
        let after = rule.setting("visible") == Some("after") && self.scopes[scope].kind != ScopeKind::Module;
        let from = if after { index(node.end_byte()) } else { 0 };
        let patterns: Vec<_> = rule.all(Role::Pattern).collect();
        match patterns.as_slice() {
            // `let _ = value` declares nothing, least of all what stands in the value.
            [] if value.is_some() || ty.is_some() => {}
            [] => self.bind_all(node, scope, from, depth),
            [pattern] => self.bind_pattern(*pattern, scope, from, depth, value, ty),
            _ => {
                let values = value.map(|value| items(value)).filter(|values| values.len() == patterns.len());
                for (at, pattern) in patterns.iter().enumerate() {
                    let value = values.as_ref().map(|values| values[at]);
                    self.bind(*pattern, scope, from, depth, value, &mut Vec::new(), ty);
                }
            }
        }
    }

    /// Declares the names of a pattern, each with its own value where both are lists.
    fn bind_pattern(
        &mut self,
        pattern: Node<'t>,
        scope: ScopeId,
        from: u32,
        depth: usize,
        value: Option<Node<'t>>,
        ty: Option<Node<'t>>,
    ) {
        let is_list = self.rule(pattern).is_some_and(|rule| rule.kind == Kind::List);
        if !is_list {
            self.bind(pattern, scope, from, depth, value, &mut Vec::new(), ty);
            return;
        }
        for (name, value) in self.pairs(pattern, value) {
            self.bind(name, scope, from, depth, value, &mut Vec::new(), ty);
        }
    }

    /// Declares the names of a pattern.
    #[expect(clippy::too_many_arguments, reason = "where it stands, what it gets, and the way into that")]
    pub(super) fn bind(
        &mut self,
        pattern: Node<'t>,
        scope: ScopeId,
        from: u32,
        depth: usize,
        value: Option<Node<'t>>,
        steps: &mut Vec<Step>,
        ty: Option<Node<'t>>,
    ) {
        if steps.len() > DEEPEST {
            return;
        }
        if self.is_name(pattern) {
            self.bind_name(pattern, scope, from, depth, value, steps, ty);
            return;
        }
        match self.rule(pattern).map(|rule| rule.kind) {
            // Values of members are read when every name is known.
            Some(Kind::Member | Kind::Index) => {}
            Some(Kind::Elements) => {
                let mut cursor = pattern.walk();
                for (at, element) in pattern.named_children(&mut cursor).enumerate() {
                    steps.push(Step::Element(index(at)));
                    self.bind(element, scope, from, depth, value, steps, None);
                    steps.pop();
                }
            }
            Some(Kind::Same | Kind::Await) => {
                if let Some(inner) = self.rule(pattern).and_then(|rule| rule.get(Role::Value)) {
                    self.bind(inner, scope, from, depth, value, steps, ty);
                }
            }
            // Whatever else it is, the names in it are declared.
            _ => self.bind_all(pattern, scope, from, depth),
        }
    }

    fn bind_all(&mut self, pattern: Node<'t>, scope: ScopeId, from: u32, depth: usize) {
        let is_pattern_name = self.grammar.is_pattern_name;
        each(pattern, |node, _| {
            if self.described.get(&node.id()).is_some_and(|rule| matches!(rule.kind, Kind::Member | Kind::Index)) {
                return false;
            }
            if self.is_name(node) && is_pattern_name(self.text(node)) {
                self.bind_name(node, scope, from, depth, None, &[], None);
            }
            true
        });
    }

    #[expect(clippy::too_many_arguments, reason = "where it stands, what it gets, and the way into that")]
    fn bind_name(
        &mut self,
        name: Node<'t>,
        scope: ScopeId,
        from: u32,
        depth: usize,
        value: Option<Node<'t>>,
        steps: &[Step],
        ty: Option<Node<'t>>,
    ) {
        let text = self.text(name);
        let home = self.home(scope, text);
        let line = self.line(name);
        let what = match value {
            Some(value) => Declared::Value(value, scope, steps.to_vec()),
            // `name: Type` alone says what a name will be, not that it is anything yet.
            None if ty.is_some() => Declared::Made(UNKNOWN),
            None => Declared::Unknown,
        };
        let is_new = self.own(home, text, from).is_none();
        let binding = self.declare(home, text, from, line, Declaration { what, depth });
        if let Some(ty) = ty {
            self.types.push((TypeSlot::Binding(binding), ty, scope));
        }
        let it = &self.scopes[home];
        match (it.kind, it.class) {
            (ScopeKind::Module, _) if is_new => {
                let symbol = self.symbol(home, text, "constant", name);
                self.out.bindings[binding as usize].symbol = Some(symbol);
            }
            (ScopeKind::Class, Some(class)) if steps.is_empty() => {
                self.add_field(class, text, line, value, ty, scope);
            }
            _ => {}
        }
    }

    /// The scope that a name is declared in: further out where the language says so.
    pub(super) fn home(&self, scope: ScopeId, text: &str) -> ScopeId {
        let mut at = scope;
        let mut module = false;
        while let Some(parent) = self.scopes[at].parent {
            let it = &self.scopes[at];
            module |= it.outer.contains(text);
            let passes = module || (self.grammar.hoists && it.kind == ScopeKind::Block);
            if !passes {
                break;
            }
            at = parent;
        }
        at
    }

    fn add_field(
        &mut self,
        class: ClassId,
        text: &str,
        line: u32,
        value: Option<Node<'t>>,
        ty: Option<Node<'t>>,
        scope: ScopeId,
    ) {
        let name = self.name(text);
        let members = &mut self.out.classes[class as usize].members;
        for is_static in [false, true] {
            let at = members.len();
            members.push(Member { name, is_static, kind: MemberKind::Field(None, None), line });
            if let Some(value) = value {
                self.values.push((ValueSlot::Field(class, at), value, scope));
            }
            if let Some(ty) = ty {
                self.types.push((TypeSlot::Field(class, at), ty, scope));
            }
        }
    }

    /// A field that is declared as such.
    pub(super) fn field(&mut self, node: Node<'t>, scope: ScopeId) {
        let Some(class) = self.scopes[scope].class else { return };
        let Some(rule) = self.rule(node) else { return };
        let (names, ty): (Vec<_>, _) = (rule.all(Role::Name).collect(), rule.get(Role::Type));
        for name in names {
            self.add_field(class, self.text(name), self.line(name), None, ty, scope);
        }
    }

    /// A further value of a name that is declared elsewhere.
    pub(super) fn update(&mut self, node: Node<'t>, scope: ScopeId, depth: usize) {
        let Some(rule) = self.rule(node) else { return };
        let (pattern, value) = (rule.get(Role::Pattern), rule.get(Role::Value));
        let Some(pattern) = pattern else { return };
        let pairs = self.pairs(pattern, value);
        for (name, value) in pairs {
            if self.is_name(name)
                && let Some(binding) = self.lookup(scope, self.text(name), index(name.start_byte()))
            {
                let what = value.map_or(Declared::Unknown, |value| Declared::Value(value, scope, Vec::new()));
                self.declarations[binding as usize].push(Declaration { what, depth: depth + 1 });
            }
        }
    }

    /// The names of a pattern, each with its own value where both are lists of one length.
    pub(super) fn pairs(&self, pattern: Node<'t>, value: Option<Node<'t>>) -> Vec<(Node<'t>, Option<Node<'t>>)> {
        let is_list =
            |node: Node<'t>| self.rule(node).is_some_and(|rule| matches!(rule.kind, Kind::List | Kind::Elements));
        if !is_list(pattern) {
            return vec![(pattern, value)];
        }
        let mut cursor = pattern.walk();
        let names: Vec<_> = pattern.named_children(&mut cursor).collect();
        let Some(value) = value.filter(|value| is_list(*value)) else {
            return names.into_iter().map(|name| (name, None)).collect();
        };
        let values = items(value);
        let same = values.len() == names.len();
        if let (false, true, [only]) = (same, self.grammar.first_of_several, values.as_slice()) {
            let only = *only;
            return names.into_iter().enumerate().map(|(at, name)| (name, (at == 0).then_some(only))).collect();
        }
        names.into_iter().enumerate().map(|(at, name)| (name, values.get(at).copied().filter(|_| same))).collect()
    }

    pub(super) fn each_item(&mut self, node: Node<'t>, scope: ScopeId, depth: usize) {
        let Some(rule) = self.rule(node) else { return };
        let after = rule.setting("visible") == Some("after");
        let mut patterns: Vec<_> = rule.all(Role::Pattern).collect();
        if patterns.is_empty() {
            patterns.push(node);
        }
        for pattern in patterns {
            let from = if after { index(pattern.end_byte()) } else { 0 };
            if self.is_name(pattern) {
                // Comprehensions keep their names to themselves.
                let line = self.line(pattern);
                let home = if self.scopes[scope].kind == ScopeKind::Block {
                    scope
                } else {
                    self.home(scope, self.text(pattern))
                };
                self.declare(home, self.text(pattern), from, line, Declaration { what: Declared::Unknown, depth });
            } else {
                self.bind_all(pattern, scope, from, depth);
            }
        }
    }

    pub(super) fn parameter(&mut self, node: Node<'t>, scope: ScopeId) {
        let Some(function) = self.scopes[scope].function else { return };
        let Some(rule) = self.rule(node) else { return };
        let rest = rule.setting("rest").is_some();
        let (ty, default) = (rule.get(Role::Type), rule.get(Role::Value));
        let mut patterns: Vec<_> = rule.all(Role::Pattern).collect();
        if patterns.is_empty() {
            patterns.push(node);
        }
        for pattern in patterns {
            self.one_parameter(pattern, scope, function, rest, ty, default);
        }
    }

    fn one_parameter(
        &mut self,
        pattern: Node<'t>,
        scope: ScopeId,
        function: FunctionId,
        rest: bool,
        ty: Option<Node<'t>>,
        default: Option<Node<'t>>,
    ) {
        let line = self.line(pattern);
        if !self.is_name(pattern) {
            self.out.functions[function as usize].parameters.push(Parameter { ty: None, default: None, name: None });
            self.bind_all(pattern, scope, 0, 0);
            return;
        }
        let text = self.text(pattern);
        if rest {
            self.declare(scope, text, 0, line, Declaration { what: Declared::Unknown, depth: 0 });
            return;
        }
        if let Some(object) = self.scopes[scope].receiver.take() {
            self.declare(scope, text, 0, line, Declaration { what: Declared::Made(object), depth: 0 });
            return;
        }
        let name = self.name(text);
        let at = index(self.out.functions[function as usize].parameters.len());
        self.out.functions[function as usize].parameters.push(Parameter { ty: None, default: None, name: Some(name) });
        self.declare(scope, text, 0, line, Declaration { what: Declared::Parameter(function, at), depth: 0 });
        if let Some(ty) = ty {
            self.types.push((TypeSlot::Parameter(function, at), ty, scope));
        }
        if let Some(default) = default {
            self.values.push((ValueSlot::Default(function, at), default, scope));
        }
    }
}

/// The items of a list.
fn items(list: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = list.walk();
    list.named_children(&mut cursor).filter(|item| !item.is_extra()).collect()
}
