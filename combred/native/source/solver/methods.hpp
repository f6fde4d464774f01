// Rosenbrock methods, of Kaps-Rentrop form as KPP has them (Sandu et al., Atmos. Environ. 31 (1997)):
//
//     (I / (gamma h) - J) k_i = f(y + sum_j A_ij k_j) + sum_j C_ij k_j / h
//     y(t + h) = y + sum_i m_i k_i,   embedded error = sum_i e_i k_i
#pragma once
#include "solver/lanes.hpp"

namespace solver {

// Order 4 with an embedded order 3, three evaluations of f: Shampine, ACM Trans. Math. Softw. 8 (1982).
struct Shampine {
  static constexpr bool SOURCES = false;
  static constexpr int STAGES = 4, ORDER = 4;
  static constexpr double GAMMA = 0.5;
  static constexpr double A[4][4] = {{}, {2}, {48 / 25.0, 6 / 25.0}, {}};
  static constexpr double C[4][4] = {
      {}, {-8}, {372 / 25.0, 12 / 5.0}, {-112 / 125.0, -54 / 125.0, -2 / 5.0}};
  static constexpr double M[4] = {19 / 9.0, 0.5, 25 / 108.0, 125 / 108.0};
  static constexpr double E[4] = {17 / 54.0, 7 / 36.0, 0, 125 / 108.0};
  static constexpr bool NEW_F[4] = {true, true, true, false};  // else that of the stage before
};

// Order 5 with an embedded order 4, stiffly accurate, eight evaluations of f: Steinebach, BIT Numer.
// Math. 63 (2023), Rodas5P.
struct Rodas5P {
  static constexpr bool SOURCES = false;
  static constexpr int STAGES = 8, ORDER = 5;
  static constexpr double GAMMA = 0.21193756319429014;
  static constexpr double A[8][8] = {
      {},
      {3.0},
      {2.849394379747939, 0.45842242204463923},
      {-6.954028509809101, 2.489845061869568, -10.358996098473584},
      {2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641},
      {-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256,
       0.030198172008377946},
      {-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256,
       0.030198172008377946, 1},
      {-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256,
       0.030198172008377946, 1, 1}};
  static constexpr double C[8][8] = {
      {},
      {-14.155112264123755},
      {-17.97296035885952, -2.859693295451294},
      {147.12150275711716, -1.41221402718213, 71.68940251302358},
      {165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306},
      {24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125,
       -0.6610691825249471},
      {30.91273214028599, -3.1208243349937974, 77.79954646070892, 34.28646028294783,
       -19.097331116725623, -28.087943162872662},
      {37.80277123390563, -3.2571969029072276, 112.26918849496327, 66.9347231244047,
       -40.06618937091002, -54.66780262877968, -9.48861652309627}};
  static constexpr double M[8] = {-7.502846399306121, 2.561846144803919, -11.627539656261098,
                                  -0.18268767659942256, 0.030198172008377946, 1, 1, 1};
  static constexpr double E[8] = {0, 0, 0, 0, 0, 0, 0, 1};
  static constexpr bool NEW_F[8] = {true, true, true, true, true, true, true, true};
};

// A method of states with sources (sources.hpp).
template <class Method> struct Sourced : Method {
  static constexpr bool SOURCES = true;
};

// x plus the row I of the coefficients of a method times the stages before it.
enum Coefficients { OF_A, OF_C, OF_M, OF_E };
template <class Method, Coefficients WHICH> INLINE constexpr double coefficient(int i, int j) {
  return WHICH == OF_A ? Method::A[i][j] : WHICH == OF_C ? Method::C[i][j]
       : WHICH == OF_M ? Method::M[j] : Method::E[j];
}
template <class R, class Method, Coefficients WHICH, int I, int J = 0, int N>
INLINE Vector<R> with_stages(Vector<R> x, const Vector<R> (*K)[N], int k) {
  if constexpr (J < I) {
    constexpr double size = coefficient<Method, WHICH>(I < Method::STAGES ? I : 0, J);
    if constexpr (size != 0.0) x = x + R(size) * K[J][k];
    return with_stages<R, Method, WHICH, I, J + 1>(x, K, k);
  } else return x;
}

}  // namespace solver
