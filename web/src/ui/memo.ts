import { Component, h, type ComponentClass, type FunctionComponent } from "preact";

function alike(a: object, b: object): boolean {
  const [before, now] = [a as Record<string, unknown>, b as Record<string, unknown>];
  return Object.keys({ ...before, ...now }).every((name) => before[name] === now[name]);
}

/**
 * Redraws a component only when its properties have changed, by default when one of them is not identical. The version
 * in preact/compat, once loaded, turns onChange of every input into onInput.
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
