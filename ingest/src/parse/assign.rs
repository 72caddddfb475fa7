//! What code assigns to names and to members: with `=`, by patterns, in the head of a loop, and by the calls that do the
//! same (`Reflect.set(client, "baseURL", url)`).

use oxc_ast::AstKind;
use oxc_ast::ast::{
    Argument as AstArgument, AssignmentExpression, AssignmentOperator, AssignmentTarget, AssignmentTargetMaybeDefault,
    AssignmentTargetProperty, BinaryOperator, CallExpression, Expression, IdentifierReference,
};
use oxc_ast_visit::walk;

use super::declare::bare;
use super::facts::{Argument, Expr, ExprId, Property, Write};
use super::lower::{Lower, UNKNOWN};
use super::text;

impl<'a> Lower<'_, 'a> {
    pub(super) fn assignment(&mut self, it: &AssignmentExpression<'a>) -> ExprId {
        if let Some(value) = self.export_assignment(it) {
            return value;
        }
        let doc = self.doc;
        // `url = url + more`
        let added = match (&it.left, &it.right) {
            (AssignmentTarget::AssignmentTargetIdentifier(target), Expression::BinaryExpression(sum))
                if it.operator == AssignmentOperator::Assign && sum.operator == BinaryOperator::Addition =>
            {
                matches!(&sum.left, Expression::Identifier(left) if left.name == target.name).then_some(&sum.right)
            }
            _ => None,
        };
        let mut value = if it.operator.is_logical() {
            self.perhaps(|this| this.lower(&it.right))
        } else {
            self.lower(added.unwrap_or(&it.right))
        };
        // `/** @type {Stripe} */ this.stripe = …`
        if let Some(ty) = self.type_of_doc(doc) {
            value = self.cast_to(value, ty);
        }
        let appends = it.operator == AssignmentOperator::Addition || added.is_some();
        let logical = it.operator.is_logical();
        match &it.left {
            AssignmentTarget::AssignmentTargetIdentifier(target) => {
                let Some(binding) = self.reference(target) else {
                    let name = self.name(&target.name);
                    let target = self.add(Expr::Global(name));
                    self.out.written.push((target, Write { value, appends, certain: false, fallback: false }));
                    return value;
                };
                let certain = self.is_certain(binding) && !logical;
                self.out.bindings[binding as usize].writes.push(Write { value, appends, certain, fallback: false });
                if logical {
                    let before = self.add(Expr::Binding(binding));
                    return self.add(Expr::Either(before, value));
                }
            }
            target => match target.as_member_expression() {
                Some(member) => {
                    let target = self.member(member);
                    self.assigned_member(target, value, appends, !logical);
                    if logical {
                        return self.add(Expr::Either(target, value));
                    }
                }
                None => self.assign(target, value),
            },
        }
        value
    }

    /// Assigns a value, or the parts of it that a pattern names.
    pub(super) fn assign(&mut self, target: &AssignmentTarget<'a>, value: ExprId) {
        match target {
            AssignmentTarget::AssignmentTargetIdentifier(target) => self.assign_name(target, value),
            AssignmentTarget::ObjectAssignmentTarget(pattern) => {
                for property in &pattern.properties {
                    match property {
                        AssignmentTargetProperty::AssignmentTargetPropertyIdentifier(it) => {
                            let name = self.name(&it.binding.name);
                            let part = self.add(Expr::Member(value, name));
                            let part = self.unless_left_out(part, it.init.as_ref());
                            self.assign_name(&it.binding, part);
                        }
                        AssignmentTargetProperty::AssignmentTargetPropertyProperty(it) => {
                            let part = match self.property_key(&it.name) {
                                Some(name) => self.add(Expr::Member(value, name)),
                                None => UNKNOWN,
                            };
                            self.assign_perhaps(&it.binding, part);
                        }
                    }
                }
                if let Some(rest) = &pattern.rest {
                    self.assign(&rest.target, UNKNOWN);
                }
            }
            AssignmentTarget::ArrayAssignmentTarget(pattern) => {
                for (at, element) in pattern.elements.iter().enumerate() {
                    let Some(element) = element else { continue };
                    let part = match self.out.expr(value) {
                        Expr::Array(items) if items.iter().all(|item| !item.spread) => {
                            items.get(at).map_or(UNKNOWN, |item| item.value)
                        }
                        _ => UNKNOWN,
                    };
                    self.assign_perhaps(element, part);
                }
                if let Some(rest) = &pattern.rest {
                    self.assign(&rest.target, UNKNOWN);
                }
            }
            target => match target.as_member_expression() {
                Some(member) => {
                    let target = self.member(member);
                    self.assigned_member(target, value, false, true);
                }
                // `(target as Type) = value`
                None => walk::walk_assignment_target(self, target),
            },
        }
    }

    fn assign_perhaps(&mut self, target: &AssignmentTargetMaybeDefault<'a>, value: ExprId) {
        match target {
            AssignmentTargetMaybeDefault::AssignmentTargetWithDefault(it) => {
                let value = self.unless_left_out(value, Some(&it.init));
                self.assign(&it.binding, value);
            }
            target => {
                if let Some(target) = target.as_assignment_target() {
                    self.assign(target, value);
                }
            }
        }
    }

    fn unless_left_out(&mut self, value: ExprId, default: Option<&Expression<'a>>) -> ExprId {
        let Some(default) = default else { return value };
        let default = self.perhaps(|this| this.lower(default));
        self.add(Expr::Either(value, default))
    }

    fn assign_name(&mut self, target: &IdentifierReference<'a>, value: ExprId) {
        let write = Write { value, appends: false, certain: false, fallback: false };
        if let Some(binding) = self.reference(target) {
            let certain = self.is_certain(binding);
            self.out.bindings[binding as usize].writes.push(Write { certain, ..write });
        } else {
            let name = self.name(&target.name);
            let target = self.add(Expr::Global(name));
            self.out.written.push((target, write));
        }
    }

    fn assigned_member(&mut self, target: ExprId, value: ExprId, appends: bool, certain: bool) {
        let object = match *self.out.expr(target) {
            Expr::Member(object, name) => {
                if let Expr::This(Some(class)) = *self.out.expr(object) {
                    self.out.classes[class as usize].assigned.push((name, value));
                    return;
                }
                object
            }
            Expr::Index(object) => object,
            _ => return,
        };
        let certain = match *self.out.expr(object) {
            Expr::Binding(binding) => certain && self.is_certain(binding),
            _ => false,
        };
        self.out.written.push((target, Write { value, appends, certain, fallback: false }));
    }

    /// `delete object.member`
    pub(super) fn deleted(&mut self, it: &Expression<'a>) {
        let target = self.lower(it);
        let Expr::Member(object, _) = *self.out.expr(target) else { return };
        if matches!(self.out.expr(object), Expr::This(_)) {
            return;
        }
        let value = self.add(Expr::Null);
        let certain = matches!(*self.out.expr(object), Expr::Binding(binding) if self.is_certain(binding));
        self.out.written.push((target, Write { value, appends: false, certain, fallback: true }));
    }

    /// What a call assigns to members of what it is given, where that is all that it does.
    pub(super) fn assigned_by_call(&mut self, it: &CallExpression<'a>, callee: ExprId, arguments: &[Argument]) {
        self.assigned_by_mock(it, callee, arguments);
        let Expr::Member(object, method) = *self.out.expr(callee) else { return };
        let Expr::Global(global) = *self.out.expr(object) else { return };
        let names = (self.out.name(global), self.out.name(method));
        let [target, rest @ ..] = arguments else { return };
        if arguments.iter().any(|argument| argument.spread) {
            return;
        }
        match names {
            ("Object" | "Reflect", "defineProperty") => {
                let (Some(key), [_, described]) = (self.key_given(it, 1), rest) else { return };
                let value = self.described(described.value);
                self.assign_member(target.value, &key, value);
            }
            ("Reflect", "set") => {
                let (Some(key), [_, value, ..]) = (self.key_given(it, 1), rest) else { return };
                self.assign_member(target.value, &key, value.value);
            }
            ("Object", "defineProperties") => {
                for (key, described) in rest.first().map_or(Vec::new(), |it| self.shown(it.value)) {
                    let value = self.described(described);
                    self.assign_member(target.value, &key, value);
                }
            }
            // What is not shown of what is assigned so is looked at where the call is.
            ("Object", "assign") if matches!(self.out.expr(target.value), Expr::Binding(_)) => {
                for source in rest {
                    for (key, value) in self.shown(source.value) {
                        self.assign_member(target.value, &key, value);
                    }
                }
            }
            _ => {}
        }
    }

    /// `jest.spyOn(object, "member").mockReturnValue(…)`, `sinon.stub(object, "member")`, `vi.stubGlobal("fetch", …)`.
    fn assigned_by_mock(&mut self, it: &CallExpression<'a>, callee: ExprId, arguments: &[Argument]) {
        let Expression::StaticMemberExpression(member) = &it.callee else { return };
        let method = member.property.name.as_str();
        if method == "stubGlobal" {
            if let (Some(name), Some(value)) = (self.key_given(it, 0), arguments.get(1)) {
                let name = self.name(&name);
                let target = self.add(Expr::Global(name));
                let write = Write { value: value.value, appends: false, certain: false, fallback: false };
                self.out.written.push((target, write));
            }
            return;
        }
        if method == "stub" {
            if let (Some(key), Some(target)) = (self.key_given(it, 1), arguments.first()) {
                self.assign_member(target.value, &key, UNKNOWN);
            }
            return;
        }
        let Expression::CallExpression(spy) = &member.object else { return };
        let is_spy = matches!(&spy.callee, Expression::StaticMemberExpression(it) if it.property.name == "spyOn");
        if !is_spy || !method.starts_with("mock") {
            return;
        }
        let Some(key) = self.key_given(spy, 1) else { return };
        let Expr::Member(spied, _) = *self.out.expr(callee) else { return };
        let Expr::Call { arguments: spied, .. } = self.out.expr(spied) else { return };
        let Some(target) = spied.first().map(|it| it.value) else { return };
        self.assign_member(target, &key, UNKNOWN);
    }

    fn assign_member(&mut self, object: ExprId, key: &str, value: ExprId) {
        let name = self.name(key);
        let target = self.add(Expr::Member(object, name));
        self.assigned_member(target, value, false, true);
    }

    /// The members that an object literal shows.
    fn shown(&self, object: ExprId) -> Vec<(String, ExprId)> {
        let Expr::Object(properties) = self.out.expr(object) else { return Vec::new() };
        let named = properties.iter().filter_map(|property| match property {
            Property::Named(name, value) => Some((self.out.name(*name).to_owned(), *value)),
            Property::Spread(_) | Property::Computed => None,
        });
        named.collect()
    }

    /// The value that `{ value }`, or `{ get() { return … } }`, makes of a property.
    fn described(&mut self, descriptor: ExprId) -> ExprId {
        let shown = self.shown(descriptor);
        let member = |name: &str| shown.iter().find(|(key, _)| key == name).map(|(_, value)| *value);
        match (member("value"), member("get")) {
            (Some(value), _) => value,
            (None, Some(get)) => {
                self.add(Expr::Call { call: u32::MAX, callee: get, arguments: Vec::new(), construct: false })
            }
            (None, None) => UNKNOWN,
        }
    }

    fn key_given(&self, it: &CallExpression<'a>, at: usize) -> Option<String> {
        it.arguments.get(at).and_then(AstArgument::as_expression).and_then(|it| self.key_of(it))
    }

    /// The member that an expression names: as a literal, or as a constant of the file that is one.
    pub(super) fn key_of(&self, it: &Expression<'a>) -> Option<String> {
        match bare(it) {
            Expression::StringLiteral(it) => Some(it.value.to_string()),
            Expression::Identifier(it) if self.apart.is_none() => {
                let symbol = self.semantic.scoping().get_reference(it.reference_id.get()?).symbol_id()?;
                let declared = self.semantic.nodes().kind(self.semantic.scoping().symbol_declaration(symbol));
                let AstKind::VariableDeclarator(declared) = declared else { return None };
                let is_constant = self.semantic.scoping().symbol_flags(symbol).is_const_variable();
                match bare(declared.init.as_ref()?) {
                    Expression::StringLiteral(it) if is_constant && text::is_key(&it.value) => {
                        Some(it.value.to_string())
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}
