import { Component, h, type ComponentClass, type FunctionComponent } from "preact";

function alike(a: object, b: object): boolean {
  const [before, now] = [a as Record<string, unknown>, b as Record<string, unknown>];
  return Object.keys({ ...before, ...now }).every((name) => before[name] === now[name]);
}

/**
 * Renders a component again only when its properties have changed. By default, they have changed if any property is not
 * identical to its previous value. The memo function of preact/compat is not used, because loading that module turns
 * onChange into onInput for every input.
 */
export function memo<P extends object>(draw: FunctionComponent<P>, same: (a: Readonly<P>, b: Readonly<P>) => boolean = alike): ComponentClass<P> {
  return class Memo extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      return !same(this.props, next);
    }

    override render() {
      return h(draw, this.props);
    }
  };
}
